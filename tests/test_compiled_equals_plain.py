"""The compiled rules and the same rules as plain Python: whole games, compared byte by byte.

Run as a script, this file plays the games and prints a digest of every decision as JSON; the test
runs it twice, once with ``NUMBA_DISABLE_JIT=1``.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np

SAMPLE = 17  # every how many decisions hidden cards are redrawn and the heuristic is asked anyway
AT_MOST = 150  # decisions of one game: all this is slow as plain Python


def settings() -> list[tuple[Any, int, dict[str, Any]]]:
    """Every table size with several sets of options; together all of them occur."""
    from helpers import ALL_GAMES, option_sets, table_sizes

    chosen = []
    for game in ALL_GAMES:
        sets = option_sets(game, most=6)
        sizes = table_sizes(game)
        for k in range(max(len(sets), 2 * len(sizes))):
            chosen.append((game, sizes[k % len(sizes)], sets[k % len(sets)]))
    return chosen


def play(number: int, game: Any, num_players: int, options: dict[str, Any]) -> list[str]:
    """A digest of each position of one game."""
    from helpers import (
        Chooser,
        begin,
        is_over,
        kinds_of_actions,
        mask_of,
        observation_of,
        state_of,
    )

    chooser = Chooser(number, kinds_of_actions(game))
    digests = []
    states = begin(game, num_players, 1000 + number, **options)
    for decision in range(AT_MOST):
        digest = hashlib.sha256()
        for name in game.state_dtype.names:
            digest.update(np.ascontiguousarray(states[name]).tobytes())
        for player in range(num_players):
            digest.update(observation_of(game, states, player).tobytes())
        digest.update(state_of(game, states).tobytes())
        mask = mask_of(game, states)
        digest.update(mask.tobytes())
        digest.update(bytes([bool(game.rules.is_sound(states, 0))]))
        if decision % SAMPLE == SAMPLE - 1:
            player = decision % num_players
            other = game.new_states(1)
            other[:] = states
            game.rules.determinize(other, 0, player, np.uint64(decision))
            digest.update(b"".join(np.array(other[name]).tobytes() for name in other.dtype.names))
        if is_over(states):
            digests.append(digest.hexdigest())
            break
        # Mostly the heuristic's choice in some games, seldom in others.
        follows = chooser.below(16) < number % 16
        action = chooser.choose(mask)
        if follows or decision % SAMPLE == 0:
            choice = int(game.heuristic(states, 0))
            digest.update(choice.to_bytes(4, "little"))
            action = choice if follows else action
        digests.append(digest.hexdigest())
        game.rules.step(states, 0, action)
    return digests


def run(disable_jit: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": disable_jit}
    return subprocess.Popen(
        [sys.executable, __file__], stdout=subprocess.PIPE, text=True, env=environment
    )


def test_compiled_and_plain_rules_are_the_same():
    plain, compiled = run("1"), run("0")
    outputs = [json.loads(process.communicate()[0]) for process in (plain, compiled)]
    assert plain.returncode == compiled.returncode == 0
    assert [output["compiled"] for output in outputs] == [False, True]
    played = settings()
    assert len(outputs[0]["games"]) == len(outputs[1]["games"]) == len(played)
    for setting, one, other in zip(played, *(output["games"] for output in outputs), strict=True):
        first = next(
            (k for k, pair in enumerate(zip(one, other, strict=False)) if len({*pair}) > 1), -1
        )
        assert one == other, f"{setting[0].id}, {setting[1:]}: decision {first} differs"
    for game in {setting[0].id: setting[0] for setting in played}.values():
        own = [setting for setting in played if setting[0] is game]
        lengths = [
            len(digests)
            for setting, digests in zip(played, outputs[0]["games"], strict=True)
            if setting[0] is game
        ]
        assert sum(length < AT_MOST for length in lengths) > len(lengths) // 2  # to the end
        assert sum(lengths) > 300
        assert {n for _, n, _ in own} == set(range(game.min_players, game.max_players + 1))
        for option in game.options:
            values = {options[option.name] for *_, options in own}
            assert values >= set(option.choices), option.name
            assert len(values) > 1, option.name


def test_where_the_cache_cannot_be_written_nothing_is_cached(tmp_path, monkeypatch):
    from card_envs.engine import jit

    def refuse(**where):
        raise PermissionError(where["dir"])

    def double(number):
        return 2 * number

    assert jit._prepare(tmp_path / "mine")
    monkeypatch.setattr(jit.tempfile, "TemporaryFile", refuse)
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "another's", tmp_path / "file" / "below"):
        assert not jit._prepare(folder)
        with monkeypatch.context() as patch:
            patch.setattr(jit, "cache_folder", lambda game_id, folder=folder: folder)
            assert jit.jit(double)(21) == 42
        assert not any(folder.rglob("*"))


def main() -> None:
    from card_envs.engine.jit import COMPILED

    games = [play(number, *setting) for number, setting in enumerate(settings())]
    print(json.dumps({"compiled": COMPILED, "games": games}))


if __name__ == "__main__":
    main()
