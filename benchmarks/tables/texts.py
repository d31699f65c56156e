"""Games in words: a transcript, and how long texts are."""

from __future__ import annotations

import card_envs
from benchmarks.tables import committed
from card_envs.text.rules import rules_in_words
from card_envs.utils.markdown import markdown_table

_DECISIONS = 3


def transcript() -> str:
    """The first decisions of a game, as players read and answer them."""
    env = card_envs.make_text("beaver_gang", num_players=2, rounds=1)
    env.reset(seed=3)
    heuristic = env.game.heuristic
    assert heuristic is not None
    lines = []
    for _ in range(_DECISIONS):
        player, text = env.get_observation()
        rules = rules_in_words(env.game)
        text = text.replace(rules, f"(... the rules: {len(rules):,} characters ...)")
        answer = f"[{env.game.action_name(int(heuristic(env.aec.states, 0)))}]"
        lines += [f"=== player {player} reads:", "", text, "", f"=== player {player} answers:", ""]
        lines += [answer, ""]
        env.step(answer)
    return "\n".join(["```text", *lines[:-1], "```"])


def lengths() -> str:
    """For each game the lengths that were found and the bound."""
    rows = []
    for game_id, measured in committed("text").items():
        game = card_envs.load_game(game_id)
        found = measured["results"]["characters"]
        row = [
            len(rules_in_words(game)),
            max(table["first_most"] for table in found),
            *(f(table["later_mean"] for table in found) for f in (min, max)),
            max(table["later_most"] for table in found),
            max(table["game_most"] for table in found),
            card_envs.make_text(game_id, num_players=game.max_players).max_chars,
        ]
        rules, first, low, high, later, whole, bound = (f"{value:,.0f}" for value in row)
        rows.append([game.title, rules, first, f"{low}–{high}", later, whole, bound])
    header = [
        "characters",
        "rules",
        "first text, longest",
        "later text, mean",
        "later text, longest",
        "one player's game, longest",
        "bound of a text",
    ]
    return markdown_table(header, rows, len(header) - 1)
