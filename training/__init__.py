"""How the shipped policies are made; run the modules with ``python -m training.<name>``."""

import sys
from importlib.util import find_spec
from types import TracebackType


def _say_interrupted(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):  # during the imports, which take seconds
        print("interrupted", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, traceback)


if sys.argv[0] == "-m":  # run as a command
    sys.excepthook = _say_interrupted


# What the dependency group and the extra install, as it is imported.
_NEEDED = (
    "joblib",
    "matplotlib",
    "pydantic",
    "rich",
    "sb3_contrib",
    "scipy",
    "stable_baselines3",
    "tensorboard",
    "threadpoolctl",
    "torch",
    "tqdm",
    "yaml",
)
_missing = [name for name in _NEEDED if find_spec(name) is None]
if _missing:
    _message = (
        f"training needs {', '.join(_missing)}: "
        "pip install --editable '.[evaluation]' --group train (pip 25.1 or later)"
    )
    if sys.argv[0] == "-m":  # run as a command: no traceback
        raise SystemExit(_message)
    raise ModuleNotFoundError(_message)
