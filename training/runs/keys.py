"""YAML files as models: read without code, changed by ``KEY=VALUE``, checked key by key."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from card_envs.agents import runs_code
from card_envs.utils.words import did_you_mean

_Model = TypeVar("_Model", bound=BaseModel)

#: The environment variable that lets configurations name agents that are imported, and programs.
MAY_IMPORT = "CARD_ENVS_IMPORT_AGENTS"


class Section(BaseModel):
    """A config section; unknown keys are rejected. The text below a key says what it means."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        serialize_by_alias=True,
        use_attribute_docstrings=True,
    )

    @field_validator("*", mode="before")
    @classmethod
    def _is_no_flag_unless_wanted(cls, value: Any, info: ValidationInfo) -> Any:
        """Reject true and false, also in lists and mappings: pydantic takes them for 1 and 0."""
        annotation = cls.model_fields[str(info.field_name)].annotation
        wanted = annotation, *get_args(annotation)
        entries = value if isinstance(value, list) else [value]
        if isinstance(value, dict) and get_origin(annotation) is dict:
            entries = list(value.values())
        flags = [str(entry).lower() for entry in entries if isinstance(entry, bool)]
        if flags and bool not in wanted and Any not in wanted:
            raise ValueError(f"true and false are not allowed here, got {flags[0]}")
        return value


def load(model: type[_Model], path: str | Path, overrides: Sequence[str] = ()) -> _Model:
    """Read a YAML file as a model, with overrides ``KEY=VALUE``: KEY is dotted, such as
    ``ppo.learning_rate``, VALUE is YAML.

    Raises:
        ValueError: The file cannot be read, or a key or value is wrong; the message names it.
    """
    return check(model, with_overrides(read_yaml(path), overrides), path)


def read_yaml(path: str | Path) -> dict[str, Any]:
    """The keys and values of a YAML file; ValueError if it holds something else."""
    try:
        data = _parse_yaml(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"cannot read the configuration {path}: {reason}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path} must be a mapping of keys to values")
    refuse_code(data, path)
    return data


def refuse_code(data: dict[str, Any], path: str | Path) -> None:
    """Raise a ValueError if plain data from a file name code to be imported, or a program to be
    started, unless that is allowed."""
    code = None if os.environ.get(MAY_IMPORT) == "1" else _code_in(data)
    if code is not None:
        raise ValueError(
            f"{path} names code, {code}: if you know what it does, allow it with the "
            f"environment variable {MAY_IMPORT}=1"
        )


def _code_in(data: Any) -> str | None:
    """The first text in plain data, keys included, that names code or a program."""
    if isinstance(data, str):
        return data if runs_code(data) else None
    parts = [*data.keys(), *data.values()] if isinstance(data, dict) else data
    found = map(_code_in, parts if isinstance(parts, list) else [])
    return next((text for text in found if text is not None), None)


class _Loader(yaml.SafeLoader):
    """Plain data: texts, numbers, lists and mappings of them, without aliases, which could stand
    for far more than the file holds, and without keys that are given twice."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        # What reads the data looks into nothing else: sets or bytes could hide a name of code.
        kind = node.tag.rpartition(":")[2]
        if kind not in ("str", "int", "float", "bool", "null", "seq", "map"):
            raise yaml.YAMLError(f"a value of the kind {kind!r} is not supported")
        return super().construct_object(node, deep)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
        for k, key in enumerate(keys):
            if key in keys[:k]:
                raise yaml.YAMLError(f"the key {key!r} is given twice")
        return super().construct_mapping(node, deep)

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not supported")
        return super().compose_node(parent, index)


def _parse_yaml(text: str) -> Any:
    """What a YAML text holds; ValueError if it is not plain data."""
    try:
        return yaml.load(text, _Loader)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except Exception as error:  # wrong values behind tags raise anything
        raise ValueError(str(error)) from None


def with_overrides(data: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """A copy of the data with ``KEY=VALUE`` applied; ValueError if that is not possible."""
    data = copy.deepcopy(data)
    for text in overrides:
        key, separator, value = text.partition("=")
        of_agents = "opponents.agents."  # which are named as they are: paths have dots
        if key.startswith(of_agents):
            parents, last = ["opponents", "agents"], key.removeprefix(of_agents)
        else:
            *parents, last = key.split(".")
        if not separator or not all([*parents, last]):
            raise ValueError(f"changes are KEY=VALUE, got {text!r}")
        section = data
        for parent in parents:
            section = section.setdefault(parent, {})
            if not isinstance(section, dict):
                raise ValueError(f"{text}: {parent!r} has no keys of its own")
        try:
            section[last] = _parse_yaml(value)
        except ValueError:
            raise ValueError(f"{text}: {value!r} is not YAML") from None
    return data


def check(model: type[_Model], data: dict[str, Any], path: str | Path) -> _Model:
    """The data as a model; ValueError names the file they come from, and the mistake."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first, more = error.errors()[:_MOST_MISTAKES], error.error_count() - _MOST_MISTAKES
        lines = [_explain(entry, model) for entry in first]
        lines += [f"and {more} more mistakes"] * (more > 0)
        raise ValueError(f"{path}: " + "; ".join(lines)) from None


_MOST_MISTAKES = 5  # told at once: a file of another kind has many

# What is needed, in YAML's words, by how the type of pydantic's error begins.
_NEEDED = {
    "int_": "a whole number",
    "float_": "a number",
    "bool_": "true or false",
    "string_type": "a text",
    "string_pattern": "a name of letters, digits and underscores",
    "tuple_": "a list",
    "dict_": "a section of keys and values",
    "model_": "a section of keys and values",
}


def _explain(entry: Any, model: type[BaseModel]) -> str:
    where = ".".join(map(str, entry["loc"]))
    about = f"{where}: " if where else ""
    if entry["type"] == "extra_forbidden":
        section: Any = model
        for key in entry["loc"][:-1]:
            is_named = get_origin(section) is dict  # a section for each name
            section = get_args(section)[1] if is_named else section.model_fields[key].annotation
        allowed = [field.alias or name for name, field in section.model_fields.items()]
        hint = did_you_mean(str(entry["loc"][-1]), allowed)
        return f"unknown key {where!r}{hint}; allowed here are {', '.join(allowed)}"
    needed = next((what for kind, what in _NEEDED.items() if entry["type"].startswith(kind)), None)
    if needed is not None:
        return f"{about}{needed} is needed, got {entry['input']!r}"
    message = entry["msg"].removeprefix("Value error, ")  # pydantic's words before a validator's
    return f"{about}{message}"
