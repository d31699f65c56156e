"""The release of the package."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("card_envs")
except PackageNotFoundError:  # used from a source tree that is not installed
    VERSION = "0+unknown"
