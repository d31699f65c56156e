"""What the site's builder reads docstrings as: an extension of Griffe, see mkdocs.yml."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

# Environments have their arguments under a heading of Markdown, as Gymnasium's do; a section of
# Google style needs no heading, but a blank line before it.
_HEADING = re.compile(r"^## Arguments\n(?=Args:\n)", re.MULTILINE)
_ROLE = re.compile(r":(?:attr|class|func|meth):`~?([\w.]+)`")
# Where several values are returned, each is named in the text; the first is not the name of all.
_RETURNED_NAME = re.compile(r"^(Returns:\n +)(\w+): ", re.MULTILINE)


class DocstringCleaner(Extension):
    """Makes docstrings that mix Markdown, Google style and roles readable for the builder."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            text = _HEADING.sub("\n", obj.docstring.value)
            text = _ROLE.sub(r"``\1``", text)
            obj.docstring.value = _RETURNED_NAME.sub(r"\1``\2``: ", text)
