"""``python -m card_envs``: the same as ``card-envs``."""

from __future__ import annotations

from card_envs.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
