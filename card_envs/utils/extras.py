"""Optional dependencies: imported where they are used, with an error that names the extra."""

from __future__ import annotations

import importlib
from typing import Any


class MissingExtraError(ImportError):
    """A library that an extra of the package installs is missing."""


def import_extra(module: str, extra: str) -> Any:
    """Import a module of an optional dependency.

    Args:
        module: The module's full name, such as ``"scipy.stats"``.
        extra: The extra that installs it, such as ``"evaluation"``.

    Returns:
        The module.

    Raises:
        MissingExtraError: It is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != library:
            raise
        raise MissingExtraError(
            f"{library} is not installed: pip install 'card_envs[{extra}]', "
            f"or in a clone pip install -e '.[{extra}]'",
            name=library,
        ) from None
