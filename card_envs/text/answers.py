"""Answers in words: which action a person or a language model means.

``meant`` is for a person who is asked again if several actions fit. ``read_answer`` reads what a
language model writes, with whatever stands around the action.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from card_envs.contract.actions import KIND, Actions

_WORD = re.compile(r"[^\s,;:]+")
_WORD_OR_COLON = re.compile(f"{_WORD.pattern}|:")
# Square brackets with what is in them, or braces.
_MARKED = re.compile(r"\[[^\[\]]*\]|\{[^{}]*\}")
# What stands around words without meaning anything: quotation marks, emphasis, full stops.
_NOISE = re.compile(r"[^\w\s,;:'-]+|_+")
_LABELS = {"action", "answer", "move"}
_ARTICLES = {"a", "an", "the"}
# Prose, and where a clause begins and ends: a comma after an action may go on with more cards.
_WORD_OR_MARK = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[,.:!?;{}\n]")
_BEGINS = re.compile(r"[,.:!?;{}\n]")
_ENDS = re.compile(r"[.!;}\n]| (?:, )?(?:because|since) ")
# What may stand beside an action in its clause. A list of what turns actions down would never be
# complete ("refuse", "before", "foolish"); what is missing here costs one more try.
_PLAIN = {
    *("i", "i'll", "i'm", "we", "we'll", "let", "let's", "me", "us", "my", "will", "shall"),
    *("should", "must", "going", "choose", "decide", "decided", "want", "think", "that", "this"),
    *("it", "is", "to", "the", "best", "final", "choice", "play", "and", "so", "then", "now"),
    *("therefore", "thus", "hence", "here", "just", "simply", *_LABELS),
}
_NEGATION = re.compile(r"not|never|no|but|too|cannot|\w+n't")
# Longer answers than this in words, beside any name of an action, are prose.
_MOST_WORDS = 30


def meant(answer: str, names: Mapping[int, str], actions: Actions | None = None) -> list[int]:
    """The actions that an answer may mean: the one of this number or name, or all with its words.

    Counted things, such as cards, may come in any order. Otherwise the answer's words, which may be
    cut short, must occur in the name in the same order, and a number after a word must directly
    follow it there, or follow a colon. An answer without any letter has no words.

    Args:
        answer: What was answered.
        names: The names of the actions that are possible.
        actions: All actions of the game: an answer that names another one means none of these.
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
    found = [a for a, name in names.items() if words and re.match(pattern, _spaced(name))]
    return [] if _impossible(words, found, names, actions) else found


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
    these it is the whole text, or its last line, or the action that is named last in it. An answer
    that names an action that is not possible means no other.

    Args:
        text: What was written.
        names: The names of the actions that are possible.
        actions: All actions of the game.

    Returns:
        The answer as it was found, and the actions: exactly one if it is understood.
    """
    answer, named = _read(text, names, actions)
    return answer, [action for action in named if action in names]


def _read(
    text: str, names: Mapping[int, str], actions: Actions | None
) -> tuple[str, Sequence[int]]:
    """As ``read_answer``; if the answer names actions that are not possible, these."""
    marked = [part for part in _MARKED.findall(text) if part.strip("[] \n")]
    for part in reversed(marked):
        answer = part.strip("[]").strip() if part.startswith("[") else part
        if (form := _form_of(answer)) is not None:
            return answer, [] if actions is None else _structured(form, names, actions)
        if part.startswith("["):
            return answer, _understood(answer, names, actions)
    whole = text.strip()
    *_, last = whole.splitlines() or [""]
    found = {answer: _understood(answer, names, actions) for answer in dict.fromkeys((whole, last))}
    for answer, understood in found.items():
        if len(understood) == 1 or not names.keys() >= set(understood):
            return answer, understood
    everything = {**_others(names, actions), **names}
    if (named := _named_last(whole, everything)) is not None:
        return everything[named], [named]
    return whole, found[whole]


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


def _understood(answer: str, names: Mapping[int, str], actions: Actions | None) -> list[int]:
    """As ``meant``, and further: numbers with names, and words that leave others out.

    If the answer names actions that are not possible, these.
    """
    words = _words(_NOISE.sub(" ", answer), needs_letters=False)
    while words and words[0] in _LABELS:
        words = words[1:]
    if not words or len(words) > _MOST_WORDS:
        return []
    if named := _in_full(words, names):
        return named
    found = meant(" ".join(words), names)
    # "the 3" is a card of that number, and not slot 3.
    is_card = any(word.isdigit() and before in _ARTICLES for before, word in pairwise(words))
    if not found and not is_card and any(map(str.isalpha, "".join(words))):
        found = [a for a, name in names.items() if _fits(words, _words(name))]
    return _impossible(words, found, names, actions) or found


def _in_full(words: list[str], names: Mapping[int, str]) -> list[int]:
    """The actions of this number, or with exactly these words, or both."""
    number = _number(words[0]) if words else -1
    if number in names and not words[1:]:
        return [number]
    # "2 seals" is not "2 seals, 1 joker", nor another action, of number 2.
    for k, spelling in enumerate((words, _reordered(words))):
        if found := [action for action, name in names.items() if spelling in _full(name)[k]]:
            return found
    return [number] if number in names and words[1:] in _full(names[number])[0] else []


@cache
def _full(name: str) -> tuple[list[list[str]], list[list[list[str]]]]:
    """The words of a name, and those after its colon: in their order, and reordered."""
    words = [_words(name), _words(name.partition(": ")[2], needs_letters=False)]
    return words, [*map(_reordered, words)]


def _impossible(
    words: list[str], found: Sequence[int], names: Mapping[int, str], actions: Actions | None
) -> list[int]:
    """The actions that words name rather than those found, although they are not possible.

    These are named in full, or lie between the words and the only action found: "perch" is rather
    "play: 1 perch" than "play: 1 perch, 1 joker".
    """
    others = _others(names, actions)
    if not others or _in_full(words, names):
        return []
    if (named := _in_full(words, others)) or len(found) != 1:
        return named
    longest = _words(names[found[0]])
    return [
        action
        for action, name in others.items()
        if _fits(words, _words(name)) and _fits(_words(name), longest)
    ]


def _others(names: Mapping[int, str], actions: Actions | None) -> dict[int, str]:
    """The names of the actions that are not possible."""
    every = () if actions is None else actions.names
    return {action: name for action, name in enumerate(every) if action not in names}


def _fits(words: Sequence[str], name: Sequence[str]) -> bool:
    """Whether a name has these words, which may be cut short, in this order."""
    left = iter(name)
    return all(
        any(full == word if word.isdigit() else full.startswith(word) for full in left)
        for word in words
    )


def _named_last(text: str, names: Mapping[int, str]) -> int | None:
    """The action whose whole name occurs last in a text; of those that end together the longest.

    None: there is none, or what stands around it may turn it down.
    """
    tokens = _WORD_OR_MARK.findall(text.lower().replace("’", "'"))
    places = [k for k, token in enumerate(tokens) if not _BEGINS.match(token)]
    spaced = f" {' '.join(tokens[k] for k in places)} "
    found = [
        (place + len(words), len(words), action)
        for action, name in names.items()
        if (place := spaced.rfind(words := f" {' '.join(_words(name))} ")) >= 0
    ]
    if not found:
        return None
    end, length, action = max(found)
    first = places[len(spaced[: end - length].split())]
    last = places[-1 - len(spaced[end:].split())]
    before, after = " ".join(tokens[:first]), f" {' '.join(tokens[last + 1 :])} "
    beside = [*_BEGINS.split(before)[-1].split(), *_ENDS.split(after)[0].split()]
    is_turned_down = any(map(_NEGATION.fullmatch, after.split()))
    return action if _PLAIN.issuperset(beside) and not is_turned_down else None


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
