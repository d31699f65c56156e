"""The rules that players read are those of RULES.md, whole and in plain words."""

from __future__ import annotations

import dataclasses
import re

import pytest
from helpers import EACH_GAME

from card_envs.games import rules_file
from card_envs.text.rules import as_ascii, rules_in_words

each_game = pytest.mark.parametrize("game", EACH_GAME)


@each_game
def test_every_rule_is_there_once_and_whole(game):
    source = rules_file(game).read_text(encoding="utf-8")
    text = rules_in_words(game)
    rules = re.findall(r"^\*\*([A-Z]{2}-\d+)\b", source, re.MULTILINE)
    assert re.findall(r"^([A-Z]{2}-\d+)\b", text, re.MULTILINE) == rules
    words = re.findall(r"[A-Za-z]+", as_ascii(text))
    for rule in re.split(r"\n(?=\*\*[A-Z]{2}-\d)", source.partition("\n## Rewards")[0])[1:]:
        first_paragraph = rule.partition("\n\n")[0]
        wanted = re.findall(r"[A-Za-z]+", as_ascii(first_paragraph.replace("player_", "player ")))
        assert " ".join(wanted) in " ".join(words)


@each_game
def test_a_game_without_rules_cannot_be_told(game, monkeypatch, tmp_path):
    monkeypatch.setattr("card_envs.text.rules.rules_file", lambda game: tmp_path / "RULES.md")
    untold = dataclasses.replace(game)  # whose rules have not been read
    with pytest.raises(FileNotFoundError, match=r"needs its rules, but there is no .*RULES\.md"):
        rules_in_words(untold)


@each_game
def test_nothing_but_rules_is_there(game):
    text = rules_in_words(game)
    assert text.isascii()
    assert text.startswith(f"# {game.title}")
    assert len(text) < 9_000
    for sign in ("`", "<!--", "](", "| ---", "*Ruling", "**"):
        assert sign not in text
    for heading in ("Options", "Actions", "Observation", "Who knows what"):
        assert f"## {heading}" not in text


def test_what_cannot_be_printed_becomes_a_question_mark():
    assert as_ascii("a\x00b\x1b[31m\n\tc") == "a?b?[31m\n?c"
    assert as_ascii("é\x00") == "e?"


def test_other_letters_become_ascii():
    assert as_ascii("Sébastien, Matthäus: −1 × “two”…") == 'Sebastien, Matthaus: -1 x "two"...'
    assert as_ascii("猫") == "?"
