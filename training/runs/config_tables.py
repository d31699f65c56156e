"""Tables of the keys of configurations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from card_envs.utils.markdown import markdown_table
from training.runs.keys import keys_of

_NULL = " or null"
_END = "...\n"  # of a YAML document that is a text or a number


def config_table(model: type[BaseModel]) -> str:
    """All keys of a configuration, their values, defaults and meanings; sections come last."""
    shown = sorted(_keys_of(model), key=lambda entry: "." in entry[0])
    rows = [
        [f"`{key}`", _values_of(field), _default_of(field), field.description or ""]
        for key, field in shown
    ]
    return markdown_table(["key", "values", "default", "meaning"], rows, 0)


def _keys_of(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in keys_of(model):
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield from _keys_of(section, f"{prefix}{name}.")
        else:
            yield prefix + name, field


def _values_of(field: FieldInfo) -> str:
    """A key's type in the words of YAML, and its limits."""
    limits = []
    for limit in field.metadata:
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<")):
            if (bound := getattr(limit, name, None)) is not None:
                limits.append(f"{sign} {_number(bound)}")
    words = _type_in_words(field.annotation)
    null = _NULL if words.endswith(_NULL) else ""
    return f"{words.removesuffix(_NULL)} {', '.join(limits)}".strip() + null


def _number(value: float) -> str:
    """A limit; powers of two that one would not recognize are written as such."""
    if isinstance(value, int) and value >= 2**20 and value.bit_count() == 1:
        return f"2^{value.bit_length() - 1}"
    return f"{value:g}"


def _type_in_words(kind: Any) -> str:
    words = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    if kind in words:
        return words[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " or ".join(f"`{choice}`" for choice in arguments)
    if origin is Annotated:
        return _type_in_words(arguments[0])
    if origin is tuple:
        return "pair" if arguments[-1] is not ... else "list"
    if origin is dict:
        return "section"
    return " or ".join("null" if x is type(None) else _type_in_words(x) for x in arguments)


def _default_of(field: FieldInfo) -> str:
    if isinstance(field.json_schema_extra, dict):
        return str(field.json_schema_extra["default"])
    if field.is_required():
        return "(required)"
    default = field.get_default(call_default_factory=True)
    shown = list(default) if isinstance(default, tuple) else default
    text = yaml.safe_dump(shown, default_flow_style=True, width=1000)
    return f"`{text.removesuffix(_END).strip()}`"
