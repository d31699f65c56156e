"""What is generated of a game's page: the round that its GUIDE.md tells, pictures, spaces.

    python docs/guides.py        # renews what is generated in the guides

The recorded game is ``docs/games/<game>.json``, which ``card-envs replay`` shows too. Moves are
counted from 1, as there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from card_envs import Replay
from card_envs.agents import names_with_versions
from card_envs.contract.game import Game
from card_envs.contract.outcome import mover
from card_envs.contract.scene import Card, Scene
from card_envs.games import guide_file, load_game
from card_envs.render import picture, svg
from card_envs.render.cards import LARGE, draw_card
from card_envs.render.colours import look_of
from card_envs.render.drawing import Rect, boxed, flow
from card_envs.render.text import draw
from card_envs.utils.files import write_text
from card_envs.utils.markdown import markdown_table, with_section
from card_envs.utils.words import capitalized

RECORDED = Path(__file__).parent / "games"

#: A place for generated text in a guide: some moves, how the round before a move was counted, or
#: the table before a move.
PLACE = re.compile(r"^<!-- (?:moves (\d+)-(\d+)|result (\d+)|table (\d+)) -->$", re.MULTILINE)
#: Where the site shows a picture: of the table before a move instead of its text, or of all cards.
PICTURE = re.compile(
    r"^<!-- (?:table (\d+) -->\n.*?\n<!-- end|cards) -->$", re.MULTILINE | re.DOTALL
)

# What the same question names each time: players, and counts of cards.
_NAMED = re.compile(r"player \d+|(?<!the )\d+ [a-z ]+")

_CARDS_IN_A_ROW = {"animalia": 7}


def scenes(game: Game) -> Iterator[tuple[Scene, str]]:
    """The recorded game: the table before each move, as its player sees it, and the move in words;
    at last the table after them all."""
    replay = Replay.load(RECORDED / f"{game.id}.json")
    states = replay.begin()
    for _, action in replay.steps(states):
        yield game.scene(states, 0, mover(states[0]), 0, False), game.action_name(action)
    yield game.scene(states, 0, mover(states[0]), 0, False), ""


def with_round(text: str, game: Game) -> str:
    """The guide with its generated places renewed."""
    told = list(scenes(game))
    asked: set[str] = set()
    for place in PLACE.finditer(text):
        first, last, after, before = place.groups()
        if first is not None:
            content = _moves(told[int(first) - 1 : int(last)], asked)
        elif after is not None:
            content = _result(told[int(after) - 1][0])
        else:
            content = _table(told[int(before) - 1][0])
        text = with_section(text, place[0][5:-4], content)
    return text


def _moves(told: list[tuple[Scene, str]], asked: set[str]) -> str:
    """A line for each turn. What a player is asked is told once (``asked``: what has been, without
    players and counts of cards); players who do the same one after the other share a line, without
    what follows the question, which may be the first one's alone."""
    turns: list[tuple[list[int], list[tuple[str, str]]]] = []
    for player, decisions in groupby(told, key=lambda decision: decision[0].observer):
        turn, is_new = [], False
        for scene, name in decisions:
            question = _NAMED.sub("", _question(scene.prompt))
            turn.append(("" if question in asked else scene.prompt, name))
            is_new |= question not in asked
            asked.add(question)
        if turns and not is_new and _names(turns[-1][1]) == _names(turn):
            turns[-1][0].append(player)
        else:
            turns.append(([player], turn))
    return "\n".join(f"- **{_players(who)}**:{_decisions(who, turn)}" for who, turn in turns)


def _names(turn: list[tuple[str, str]]) -> list[str]:
    return [name for _, name in turn]


def _question(prompt: str) -> str:
    """The first sentence of a prompt."""
    first, stop, _ = prompt.partition(". ")
    return first + stop.strip()


def _decisions(players: list[int], turn: list[tuple[str, str]]) -> str:
    """One behind the player's name, several below it."""
    lines = []
    for prompt, name in turn:
        asked = prompt if len(players) == 1 else _question(prompt)
        lines.append(f"*{asked}* `{name}`" if prompt else f"`{name}`")
    return f" {lines[0]}" if len(lines) == 1 else "".join(f"\n    - {line}" for line in lines)


def _players(players: list[int]) -> str:
    *others, last = map(str, players)
    return f"Players {', '.join(others)} and {last}" if others else f"Player {last}"


def _result(scene: Scene) -> str:
    """The grid with a title: how the last round was counted, with a column for each player."""
    grid = next(grid for grid in reversed(scene.grids) if grid.title)
    players = {seat.label: f"player {seat.player}" for seat in scene.seats}
    columns = sorted(
        [players.get(label, label), *("" if cell == 0 else str(cell).strip() for cell in cells)]
        for label, *cells in ((str(first).strip(), *rest) for first, *rest in grid.rows)
    )
    header, *rows = zip(grid.head, *columns, strict=True)
    table = markdown_table(header, rows, len(columns))
    return f"{capitalized(grid.title)}:\n\n{table}"


def _table(scene: Scene) -> str:
    """The table in words, without what is asked, which the moves tell."""
    return f"```text\n{draw(replace(scene, prompt=''))}\n```"


def pictures(game: Game) -> Iterator[tuple[str, bytes]]:
    """The pictures that the game's guide shows, by their names."""
    told = list(scenes(game))
    for place in PICTURE.finditer(guide_file(game).read_text(encoding="utf-8")):
        content = _cards(game, told[0][0])
        if place[1] is not None:
            content = picture.draw(told[int(place[1]) - 1][0], game.style).svg()
        yield name_of(game.id, place), content.encode()


def name_of(game_id: str, place: re.Match[str]) -> str:
    """The name of the picture for a place in the guide."""
    return f"{game_id}-{place[1] or 'cards'}.svg"


def completed(markdown: str, game: Game, folder: str) -> str:
    """The page of a game with its guide's pictures, which are in ``folder``, and its spaces."""

    def shown(place: re.Match[str]) -> str:
        about = f"The table before move {place[1]}" if place[1] else "The cards"
        return f"![{about}]({folder}/{name_of(game.id, place)})"

    return PICTURE.sub(shown, markdown).replace("<!-- facts -->", facts(game))


def facts(game: Game) -> str:
    """How to make the game's environments, and their spaces."""
    size = f"{game.min_players} to {game.max_players}, by default {game.default_players}"
    rows = {
        "players": size,
        "PettingZoo": f"`card_envs.{game.name}.env()`, `raw_env()`, `parallel_env()`",
        "Gymnasium": f'`gymnasium.make("{game.gymnasium_id}")`, `gymnasium.make_vec(…)`',
        "raw batch": f'`card_envs.make_vec("{game.id}", num_envs)`',
        "action space": f"`Discrete({game.num_actions})`",
        "observation": f"`Box(0, 1, ({game.fields.size},), float32)`",
        "full state": f"`Box(0, 1, ({game.state_fields.size},), float32)`",
        "agents": ", ".join(f"`{name}`" for name in names_with_versions(game)),
    }
    return markdown_table(("", ""), list(rows.items()))


def _cards(game: Game, scene: Scene) -> str:
    """All cards' faces; those of counters are left out, which may share them."""
    look = look_of(game.style, "dark")
    counters = dict(scene.seats[0].counters)
    firsts = {face: name for name, face in reversed(game.style.faces.items())}
    names = [name for name in game.style.faces if name in firsts.values() and name not in counters]
    cards = [draw_card(Card(name), look, LARGE) for name in names]
    columns = _CARDS_IN_A_ROW.get(game.id, (len(cards) + 1) // 2)
    room = (LARGE + 10) * columns
    drawing = boxed(flow(cards, room, 8, 10), Rect(0, 0, look.table), 10)
    return svg.write(drawing, drawing.width, f"The cards of {game.title}", ", ".join(names))


def main() -> None:
    """Renew the guides of all games that have a recorded one."""
    for path in sorted(RECORDED.glob("*.json")):
        game = load_game(path.stem)
        old = guide_file(game).read_text(encoding="utf-8")
        new = with_round(old, game)
        if new != old:
            write_text(guide_file(game), new)


if __name__ == "__main__":
    main()
