"""Show results as tables: ``python -m benchmarks.tables FILE.json …``, files of ``--json``.

With ``--pages`` it renews the tables in README.md and in docs/ instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.tables import TABLES, kind_of
from card_envs.commands import arguments, running
from card_envs.utils.files import write_text
from training.runs.records import read_json


@running.command("benchmarks.tables")
def main(argv: Sequence[str] | None) -> None:
    """The command ``python -m benchmarks.tables``."""
    parser = arguments.module_parser("benchmarks.tables", (__doc__ or "").split(":")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="what --json wrote")
    about = "renew the tables in README.md and in docs/"
    parser.add_argument("--pages", action="store_true", help=about)
    args = parser.parse_args(argv)
    if args.pages == bool(args.files):
        parser.error("give files, or --pages")
    if args.pages:
        from benchmarks.tables import pages  # needs what training needs; files are shown without

        for page in pages.PAGES:
            text = page.read_text(encoding="utf-8")
            if (renewed := pages.with_tables(text)) != text:
                write_text(page, renewed)
    for path in args.files:
        measured = read_json(path)
        try:
            print(TABLES[kind_of(measured)](measured), end="\n\n")
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        except (AttributeError, LookupError, TypeError) as error:
            raise ValueError(f"{path} is damaged, or of another version: {error!r}") from None


if __name__ == "__main__":
    raise SystemExit(main())
