"""The compiled rules and the same rules as plain Python: whole games, compared byte by byte.

Run as a script, this file plays a part of the games and prints a digest of every decision
as JSON; the test runs it twice, once with ``NUMBA_DISABLE_JIT=1``.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

SAMPLE = 17  # every how many decisions hidden cards are redrawn and the heuristic is asked anyway
AT_MOST = 150  # decisions of one game: all this is slow as plain Python


def settings() -> list[tuple[Any, int, dict[str, Any]]]:
    """Every table size with several sets of options; together all of them occur."""
    from helpers import ALL_GAMES, option_sets

    chosen = []
    for game in ALL_GAMES:
        sets = option_sets(game, most=8, views=True)
        sizes = game.table_sizes
        for k in range(max(len(sets), len(sizes))):
            chosen.append((game, sizes[k % len(sizes)], sets[k % len(sets)]))
    return chosen


def play(number: int, game: Any, num_players: int, options: dict[str, Any]) -> list[str]:
    """A digest of each position of one game: the record, the mask, the full state, and what the
    player to move and another one observe; and what search asks the game."""
    from helpers import (
        Chooser,
        begin,
        bytes_of_entries,
        copy_of,
        is_over,
        kinds_of_actions,
        mask_of,
        observation_of,
        state_of,
    )

    own_options, view = game.split_options(options)
    chooser = Chooser(number, kinds_of_actions(game))
    digests = []
    states = begin(game, num_players, 1000 + number, **own_options)
    past = copy_of(game, states)
    for decision in range(AT_MOST):
        digest = hashlib.sha256()
        digest.update(bytes_of_entries(states))
        for player in {int(states["current_player"][0]), decision % num_players}:
            observation = observation_of(game, states, player, view.memory, view.features)
            digest.update(observation.tobytes())
        digest.update(state_of(game, states, decision % num_players).tobytes())
        mask = mask_of(game, states)
        digest.update(mask.tobytes())
        if decision % SAMPLE == SAMPLE - 1:
            other = copy_of(game, states)
            game.rules.determinize(other, 0, decision % num_players, np.uint64(decision))
            digest.update(bytes_of_entries(other))
            if game.look_back is not None and game.round_of(past, 0) == game.round_of(states, 0):
                digest.update(bytes([game.look_back(past, 0, states, 0, other, 0)]))
                digest.update(bytes_of_entries(past))
        if game.outlook is not None:
            digest.update(int(game.round_of(states, 0)).to_bytes(4, "little"))
            promised = float(game.outlook(states, 0, decision % num_players))
            digest.update(promised.hex().encode())
        if decision % SAMPLE == SAMPLE - 3:
            past = copy_of(game, states)
        if is_over(states):
            digests.append(digest.hexdigest())
            break
        # Mostly the heuristic's choice in some games, seldom in others.
        follows = chooser.below(16) < number % 16
        action = chooser.choose(mask)
        if game.heuristic is not None and (follows or decision % SAMPLE == 0):
            choice = int(game.heuristic(states, 0))
            digest.update(choice.to_bytes(4, "little"))
            action = choice if follows else action
        digests.append(digest.hexdigest())
        game.rules.step(states, 0, action)
    return digests


def run(disable_jit: str, every: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": disable_jit}
    return subprocess.Popen(
        [sys.executable, __file__, str(every)], stdout=subprocess.PIPE, text=True, env=environment
    )


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_compiled_and_plain_rules_are_the_same(every):
    from helpers import ALL_GAMES, VIEWS, kit_of, mean_length

    plain, compiled = run("1", every), run("0", every)
    outputs = [json.loads(process.communicate()[0]) for process in (plain, compiled)]
    assert plain.returncode == compiled.returncode == 0
    assert [output["compiled"] for output in outputs] == [False, True]
    played = settings()[::every]
    assert {setting[0] for setting in played} == set(ALL_GAMES)
    assert len(outputs[0]["games"]) == len(outputs[1]["games"]) == len(played)
    for setting, one, other in zip(played, *(output["games"] for output in outputs), strict=True):
        first = next(
            (k for k, pair in enumerate(zip(one, other, strict=False)) if len({*pair}) > 1), -1
        )
        assert one == other, f"{setting[0].id}, {setting[1:]}: decision {first} differs"
    if every > 1:
        return
    for game in {setting[0].id: setting[0] for setting in played}.values():
        own = [setting for setting in played if setting[0] is game]
        lengths = [
            len(digests)
            for setting, digests in zip(played, outputs[0]["games"], strict=True)
            if setting[0] is game
        ]
        if kit_of(game).usual_length <= AT_MOST:  # most are played to the end
            assert sum(length < AT_MOST for length in lengths) > len(lengths) // 2
        assert sum(lengths) > min(300, len(own) * mean_length(game, game.min_players) / 2)
        assert {n for _, n, _ in own} == set(range(game.min_players, game.max_players + 1))
        for option in game.options:
            values = {options[option.name] for *_, options in own}
            assert values >= set(option.choices), option.name
            assert len(values) > 1, option.name
        assert {game.split_options(options)[1] for *_, options in own} == set(VIEWS)


def main() -> None:
    from card_envs.kernels.jit import COMPILED

    every = int(sys.argv[1])
    games = [play(number, *setting) for number, setting in enumerate(settings()[::every])]
    print(json.dumps({"compiled": COMPILED, "games": games}))


if __name__ == "__main__":
    main()
