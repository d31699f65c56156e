"""Answers in words: which action a person or a language model means.

``meant`` is for a person who is asked again if several actions fit. ``read_answer`` reads what a
language model writes, with whatever stands around the action.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from card_envs.contract.actions import KIND, Actions

_WORD = re.compile(r"[^\s,;:]+")
_WORD_OR_COLON = re.compile(f"{_WORD.pattern}|:")
# Square brackets with what is in them, or braces.
_MARKED = re.compile(r"\[[^\[\]]*\]|\{[^{}]*\}")
# What stands around words without meaning anything: quotation marks, emphasis, full stops.
_NOISE = re.compile(r"[^\w\s,;:'-]+|_+")
_LABELS = {"action", "answer", "move"}
# Where a clause ends, and what turns the action that is named after it in the same clause down.
_CLAUSE = re.compile(r"[,.:!?;\n]+")
_NEGATION = re.compile(r"not|never|no|cannot|without|instead|than|too|\w+n't")
# Longer answers than this in words, beside any name of an action, are prose.
_MOST_WORDS = 30


def meant(answer: str, names: Mapping[int, str]) -> list[int]:
    """The actions that an answer may mean: the one of this number or name, or all with its words.

    Counted things, such as cards, may come in any order. Otherwise the answer's words, which may be
    cut short, must occur in the name in the same order, and a number after a word must directly
    follow it there, or follow a colon. An answer without any letter has no words.

    Args:
        answer: What was answered.
        names: The names of the actions that are possible.
    """
    for action, name in names.items():
        if answer in (str(action), name):
            return [action]
    words = _words(answer)
    if len(words) > _MOST_WORDS:
        return []
    for alike in (list, _reordered) if words else ():
        if named := [a for a, name in names.items() if alike(words) == alike(_words(name))]:
            return named
    pattern = ""
    for k, word in enumerate(words):
        is_close = word.isdigit() and k > 0 and not words[k - 1].isdigit()
        pattern += f" {'(?:[^:]*: )?' if is_close else '(?:.* )?'}{_beginning(word)}"
    return [a for a, name in names.items() if words and re.match(pattern, _spaced(name))]


def near(answer: str, names: Mapping[int, str]) -> list[int]:
    """The actions with all words of an answer, in any order."""
    patterns = [f" {_beginning(word)}" for word in _words(answer)]
    return [
        action
        for action, name in names.items()
        if patterns and all(re.search(pattern, _spaced(name)) for pattern in patterns)
    ]


def read_answer(
    text: str, names: Mapping[int, str], actions: Actions | None = None
) -> tuple[str, list[int]]:
    """The answer in a text, and the actions that it may mean.

    What is in the last square brackets, or the last JSON object with a kind, is the answer. Without
    these it is the whole text, or its last line, or the action that is named last in it.

    Args:
        text: What was written.
        names: The names of the actions that are possible.
        actions: All actions of the game, for answers in structured form.

    Returns:
        The answer as it was found, and the actions: exactly one if it is understood.
    """
    marked = [part for part in _MARKED.findall(text) if part.strip("[] \n")]
    for part in reversed(marked):
        answer = part.strip("[]").strip() if part.startswith("[") else part
        if (form := _form_of(answer)) is not None:
            return answer, [] if actions is None else _structured(form, names, actions)
        if part.startswith("["):
            return answer, _understood(answer, names)
    whole = text.strip()
    *_, last = whole.splitlines() or [""]
    found = [_understood(answer, names) for answer in (whole, last)]
    for answer, understood in zip((whole, last), found, strict=True):
        if len(understood) == 1:
            return answer, understood
    if (named := _named_last(whole, names)) is not None:
        return names[named], [named]
    return whole, found[0]


def _form_of(answer: str) -> dict[str, Any] | None:
    """The structured form that an answer is; None: it is none."""
    try:
        form = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    return form if isinstance(form, dict) and KIND in form else None


def _structured(form: dict[str, Any], names: Mapping[int, str], actions: Actions) -> list[int]:
    """The action that a structured form means, if it is possible."""
    try:
        action = actions.from_dict(form)
    except ValueError:
        return [a for a in names if _reordered_form(actions.to_dict(a)) == _reordered_form(form)]
    return [action] if action in names else []


def _reordered_form(form: dict[str, Any]) -> dict[str, Any]:
    """The form with the counted things of its texts in a fixed order."""
    return {k: _reordered(_words(v)) if isinstance(v, str) else v for k, v in form.items()}


def _understood(answer: str, names: Mapping[int, str]) -> list[int]:
    """As ``meant``, and further: numbers with names, and words that leave others out."""
    words = _words(_NOISE.sub(" ", answer), needs_letters=False)
    while words and words[0] in _LABELS:
        words = words[1:]
    if not words or len(words) > _MOST_WORDS:
        return []
    number = _number(words[0])
    if number in names and not words[1:]:
        return [number]
    # "2 seals" is not "2 seals, 1 joker", nor another action, of number 2.
    for alike in (list, _reordered):
        if found := [a for a, name in names.items() if alike(words) in map(alike, _full(name))]:
            return found
    if number in names and words[1:] in _full(names[number]):
        return [number]
    actions = meant(" ".join(words), names)
    if actions or not any(map(str.isalpha, "".join(words))):
        return actions
    pattern = "".join(f" (?:.* )?{_beginning(word)}" for word in words)
    return [a for a, name in names.items() if re.match(pattern, _spaced(name))]


def _full(name: str) -> tuple[list[str], list[str]]:
    """The words of a name, and those after its colon."""
    return _words(name), _words(name.partition(": ")[2], needs_letters=False)


def _named_last(text: str, names: Mapping[int, str]) -> int | None:
    """The action whose whole name occurs last in a text; of those that end together the longest.

    None: there is none, or a negation stands before it.
    """
    clauses = [_words(_NOISE.sub(" ", clause)) for clause in _CLAUSE.split(text.replace("’", "'"))]
    spaced = f" {' '.join(word for clause in clauses for word in clause)} "
    found = [
        (place + len(words), len(words), action)
        for action, name in names.items()
        if (place := spaced.rfind(words := f" {' '.join(_words(name))} ")) >= 0
    ]
    if not found:
        return None
    end, length, action = max(found)
    before = spaced[: end - length].split()
    for clause in clauses:
        if len(before) <= len(clause):
            break
        before = before[len(clause) :]
    return None if any(map(_NEGATION.fullmatch, before)) else action


def _words(answer: str, needs_letters: bool = True) -> list[str]:
    has_words = not needs_letters or any(map(str.isalpha, answer))
    return _WORD.findall(answer.lower()) if has_words else []


def _reordered(words: Sequence[str]) -> list[list[str]]:
    """The words with what is counted in a fixed order: each number, and what follows it."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word.isdigit():
            parts.append([])
        if word != "and":
            parts[-1].append(word)
    return sorted(parts)


def _number(word: str) -> int:
    """The number that a word of decimal digits stands for, or -1."""
    try:
        return int(word) if word.isdecimal() else -1
    except ValueError:  # Python limits the digits it converts to thousands; no action has as many
        return -1


def _beginning(word: str) -> str:
    """A pattern for words that begin like this one, or for the same number."""
    return re.escape(word) + ("(?= )" if word.isdigit() else "[^ ]*")


def _spaced(name: str) -> str:
    """A name with one space before and after each word and colon."""
    return f" {' '.join(_WORD_OR_COLON.findall(name.lower()))} "
