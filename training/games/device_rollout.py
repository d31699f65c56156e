"""``DeviceRollout``: the decisions of an iteration in games on a device, kept there.

What ``training.ppo.Rollout`` is for games on a CPU, with the same advantages. A slot holds one
decision of every game; the first P slots hold what was open when the last rollout ended, each
seat's in a slot of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from training.games.device import DeviceGames
from training.games.tables import LEARNER
from training.networks.sparse import Rows

_BATCH = 2**16  #: decisions that are valued at once

#: Chooses actions (M,) for inputs (M, D + S) and action masks (M, A); gives log probabilities, too.
Choice = Callable[[Rows, Rows], tuple[torch.Tensor, torch.Tensor]]
#: Values (M,) of inputs (M, D + S).
Values = Callable[[Rows], torch.Tensor]


class DeviceRollout:
    """The decisions of one iteration.

    Args:
        games: The games.
        n_steps: About how many decisions of the learner it has of each game.
        dtype: What networks take.
        generator: Of what opponents draw.

    Attributes:
        action, log_prob, value: int64, float32, float32 (slots, N).
        is_own: bool (slots, N), whether there is such a decision, and it is the learner's.
        open: int64 (N, P), where each seat's open decision lies among all slots' decisions; -1: it
            has none. ``open_reward`` (N, P) is what it has got so far.
    """

    def __init__(
        self,
        games: DeviceGames,
        n_steps: int,
        dtype: torch.dtype,
        generator: torch.Generator,
    ) -> None:
        self._games, self._dtype, self._generator = games, dtype, generator
        count, seats = games.tables.seating.shape
        # In blocks opponents decide in some of them.
        self._rounds = round(n_steps / games.own_decisions)
        self._seats, device = seats, games.scale.device
        slots, rounds = seats + self._rounds, self._rounds

        def room(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self._units = room(slots, count, len(games.scale), dtype=torch.uint8)
        self._legal = room(slots, count, games.action_mask.shape[1], dtype=torch.int8)
        self.action = room(slots, count, dtype=torch.int64)
        self.log_prob, self.value = room(slots, count), room(slots, count)
        self.is_own = room(slots, count, dtype=torch.bool)
        self._players = room(rounds, count, dtype=torch.int64)
        self._rewards = room(rounds, count, seats)
        self._ended, self._bootstrapped = (room(rounds, count, dtype=torch.bool) for _ in range(2))
        self.open = torch.full((count, seats), -1, device=device)
        self.open_reward, self._carried_reward = room(count, seats), room(count, seats)
        self._places = torch.arange(count, device=device)
        self._each_seat = torch.arange(seats, device=device)

    # -- Decisions ----------------------------------------------------------------------------

    def collect(self, choose: Choice, values: Values) -> int:
        """Play a rollout; returns the number of the learner's decisions."""
        games, seats, count = self._games, self._seats, len(self._places)
        self._carry()
        for t in range(self._rounds):
            slot, players = seats + t, self._players[t]
            players.copy_(games.players)
            is_own = torch.eq(games.waiting, LEARNER, out=self.is_own[slot])
            observed = games.observation.shape[1]
            self._units[slot, :, :observed] = games.observation
            self._units[slot, :, observed:] = games.state
            self._legal[slot].copy_(games.action_mask)
            chosen, self.log_prob[slot] = choose(self._inputs(self._units[slot]), self._legal[slot])
            self.action[slot] = chosen
            here = (self._each_seat == players[:, None]) & is_own[:, None]
            place = slot * count + self._places
            self.open = torch.where(here, place[:, None], self.open)
            self.open_reward.masked_fill_(here, 0.0)
            games.step(chosen, self._generator)
            self._pay(t)
        flat = self._units[seats:].flatten(0, 1)
        # In large batches, since nothing changes the weights within a rollout.
        for out, units in zip(
            self.value[seats:].view(-1).split(_BATCH), flat.split(_BATCH), strict=True
        ):
            out.copy_(values(self._inputs(units)))
        games.check()
        return int(self.is_own[seats:].sum())

    def _carry(self) -> None:
        """The open decisions become the first slots'; none of them lies where another goes."""
        kept = (self._units, self._legal, self.action, self.log_prob, self.value)
        for seat in range(self._seats):
            place = self.open[:, seat]
            there = place >= 0
            for array in kept:
                array[seat] = array.flatten(0, 1)[place.clamp(min=0)]
            self.is_own[seat] = there
            self.open[:, seat] = torch.where(there, seat * len(place) + self._places, -1)
        self._carried_reward.copy_(self.open_reward)

    def _pay(self, t: int) -> None:
        """Keep what the last step brought."""
        games = self._games
        rewards, ended = games.rewards.float(), games.ended
        kept, taken = games.cut_rewards
        rewards = torch.where(games.cut[:, None], kept * rewards - taken, rewards)
        self._rewards[t], self._ended[t] = rewards, ended
        self._bootstrapped[t] = games.cut & games.bootstraps
        self.open_reward += rewards
        self.open.masked_fill_(ended[:, None], -1)
        self.open_reward.masked_fill_(ended[:, None], 0.0)

    # -- What is learned from -----------------------------------------------------------------

    def advantages(self, gamma: float, lam: float) -> tuple[Any, Any, Any]:
        """As ``training.ppo.Rollout.advantages``, of the learner's decisions, by their places among
        all slots' decisions."""
        seats, out = self._seats, torch.zeros_like(self.value)
        complete = torch.zeros_like(self.is_own)
        # Of each seat, at the present place of the walk from the end: what was paid since, the
        # value and the advantage of its next decision if it has one, and whether its game ends.
        paid, value, ahead = (torch.zeros_like(self.open_reward) for _ in range(3))
        decides = torch.zeros_like(paid, dtype=torch.bool)
        ends = torch.zeros_like(decides)

        def gain(seen: Callable[[torch.Tensor], torch.Tensor], slot: Any) -> torch.Tensor:
            more = gamma * (seen(value) + lam * seen(ahead)) * seen(decides)
            done = self.is_own[slot] & (seen(decides) | seen(ends))
            complete[slot] = done
            return torch.where(done, seen(paid) + more - self.value[slot], 0.0)

        for t in range(self._rounds - 1, -1, -1):
            slot, player = seats + t, self._players[t][:, None]
            ended = self._ended[t][:, None]
            paid = paid.masked_fill(ended, 0.0) + self._rewards[t]
            # What is open when a game is bootstrapped is not learned from.
            decides, ends = decides & ~ended, (ends | ended) & ~self._bootstrapped[t][:, None]
            out[slot] = gain(partial(_of_player, player), slot)
            here = (self._each_seat == player) & self.is_own[slot][:, None]
            paid = paid.masked_fill(here, 0.0)
            value = torch.where(here, self.value[slot][:, None], value)
            ahead = torch.where(here, out[slot][:, None], ahead)
            decides, ends = decides | here, ends & ~here
        paid = paid + self._carried_reward
        out[:seats] = gain(torch.t, slice(seats))
        places = complete.view(-1).nonzero()[:, 0]
        found = out.view(-1)[places]
        return places, found, found + self.value.view(-1)[places]

    def decided(self, places: Any) -> tuple[Any, Any]:
        """The actions (M,) of some decisions, and their log probabilities."""
        return self.action.view(-1)[places], self.log_prob.view(-1)[places]

    def rows(self, places: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs (M, D + S) and action masks (M, A) of some decisions."""
        units, legal = self._units.flatten(0, 1)[places], self._legal.flatten(0, 1)[places]
        return self._inputs(units), legal

    def _inputs(self, units: torch.Tensor) -> torch.Tensor:
        return units.to(self._dtype) / self._games.scale.to(self._dtype)

    def forget(self) -> None:
        """Nothing that was decided before is learned from."""
        self.open.fill_(-1)

    def arrays(self) -> dict[str, Any]:
        """Nothing: the games begin again when a run is resumed."""
        return {}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Begin as a new rollout does."""
        self.forget()


def _of_player(player: torch.Tensor, of: torch.Tensor) -> torch.Tensor:
    """The entries (N,) of (N, P) that are the players', (N, 1)."""
    return of.gather(1, player)[:, 0]
