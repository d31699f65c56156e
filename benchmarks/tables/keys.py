"""Tables of the keys of configurations, from pydantic's JSON schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from pydantic import BaseModel

from card_envs.utils.markdown import markdown_table

_WORDS = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "object": "section",
    "null": "null",
}
_LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
_END = "...\n"  # of a YAML document that is a text or a number


def config_table(model: type[BaseModel]) -> str:
    """All keys of a configuration, their values, defaults and meanings; sections come last."""
    schema = model.model_json_schema()
    shown = sorted(_keys_of(schema, schema["$defs"]), key=lambda entry: "." in entry[0])
    rows = [
        [f"`{key}`", _values_of(entry), default, " ".join(entry["description"].split())]
        for key, entry, default in shown
    ]
    return markdown_table(["key", "values", "default", "meaning"], rows, 0)


def _keys_of(
    schema: dict[str, Any], sections: dict[str, Any], prefix: str = ""
) -> Iterator[tuple[str, dict[str, Any], str]]:
    for name, entry in schema["properties"].items():
        if "$ref" in entry:
            section = sections[entry["$ref"].rpartition("/")[2]]
            yield from _keys_of(section, sections, f"{prefix}{name}.")
            continue
        default = entry.get("default", {})  # of a section that may have any keys
        if name in schema.get("required", ()):  # the default depends on the game, or there is none
            shown = default or "(required)"
        else:
            text = yaml.safe_dump(default, default_flow_style=True, width=1000)
            shown = f"`{text.removesuffix(_END).strip()}`"
        yield prefix + name, entry, shown


def _values_of(entry: dict[str, Any]) -> str:
    """A key's type in the words of YAML, and its limits."""
    if "anyOf" in entry:
        return " or ".join(map(_values_of, entry["anyOf"]))
    if "enum" in entry:
        return " or ".join(f"`{choice}`" for choice in entry["enum"])
    if entry["type"] == "array":
        return "pair" if "prefixItems" in entry else "list"
    limits = [f"{sign} {_number(entry[key])}" for key, sign in _LIMITS.items() if key in entry]
    return f"{_WORDS[entry['type']]} {', '.join(limits)}".strip()


def _number(value: float) -> str:
    """A limit; powers of two that one would not recognize are written as such."""
    if isinstance(value, int) and value >= 2**20 and value.bit_count() == 1:
        return f"2^{value.bit_length() - 1}"
    return f"{value:g}"
