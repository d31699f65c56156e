"""Make the pool of ``card-envs benchmark``, and pin its play.

    python -m benchmarks.pool            # prints the hashes that are not pinned yet
    python -m benchmarks.pool --write    # pins them

The policies that it names by their version, such as ``ppo_v1``, are written to
``card_envs/policies/<game>/pool`` in float16. A frozen protocol is never written: what it
plays is what results were claimed for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from card_envs.agents.shipped import policies_folder, pool_folder
from card_envs.commands import arguments, running
from card_envs.contract.game import Game
from card_envs.evaluation.protocol import CURRENT, FOLDER, Protocol, hash_of_play
from card_envs.games import load_game
from card_envs.utils.files import write_json, write_output
from card_envs.utils.progress import track
from training.runs.records import predecessors, read_json


def halved(policy: Path) -> bytes:
    """A policy file in float16."""
    with safe_open(policy, framework="numpy") as file:
        names = sorted(file.keys())
        tensors = {name: file.get_tensor(name).astype(np.float16) for name in names}
        return save(tensors, file.metadata())


def versions(game: Game) -> dict[str, Path]:
    """The files of all versions of the game's ``ppo``; the newest is the shipped one."""
    earlier = {path.stem: path for path in map(Path, predecessors(game))}
    return {**earlier, f"ppo_v{len(earlier) + 1}": policies_folder(game) / "ppo.safetensors"}


@running.command("benchmarks.pool")
def main(argv: Sequence[str] | None) -> int:
    """The command ``python -m benchmarks.pool``; status 1 if another play is pinned."""
    parser = arguments.module_parser("benchmarks.pool", __doc__)
    parser.add_argument("--write", action="store_true", help="pin the hashes in the draft")
    args = parser.parse_args(argv)
    protocol = Protocol.load()
    if args.write and protocol.status != "draft":
        raise ValueError(f"{CURRENT} is {protocol.status}: another pool is another protocol")
    path = FOLDER / f"{CURRENT}.json"
    declared = read_json(path)
    changed = 0
    for name in track([*protocol.pools], "games"):
        game = load_game(name)
        for version, policy in versions(game).items():
            if args.write and version in protocol.pool(game).members:
                write_output(pool_folder(game) / f"{version}.safetensors", halved(policy))
        play = hash_of_play(protocol, game)
        if play != protocol.pool(game).play:
            changed += 1
            print(f"{name} {play}")
        declared["pools"][name]["play"] = play
    if args.write:
        write_json(path, declared)
    return int(changed > 0 and not args.write)


if __name__ == "__main__":
    raise SystemExit(main())
