"""Beaver Gang once more, slowly: cards as objects, and of each card who has seen it.

Written from the rules and not from the kernels, which are compared with it. The order of the draw
pile after a shuffle is the one thing that it takes from the record.
"""

from __future__ import annotations

from collections import Counter

from games.beaver_gang.table import Table, places


class Card:
    def __init__(self, sign: str, filling: int) -> None:
        self.sign = sign
        self.filling = filling
        self.seen_by: set[int] = set()
        self.is_surely_a_number = False

    @property
    def is_number(self) -> bool:
        return self.sign.isdigit()


class Reference:
    """One round, from the deal to the reveal."""

    def __init__(self, table: Table) -> None:
        self.n = int(table.num_players)
        self.players = range(self.n)
        self.filling = 0
        self.rows = [[Card(sign, 0) for sign in table.row_of(p)] for p in self.players]
        for player, row in enumerate(self.rows):
            row[0].seen_by.add(player)
            row[3].seen_by.add(player)
        self.draw_pile = [Card(sign, 0) for sign in table.draws]  # from the top
        self.discard_pile = [Card(table.top, 0)]  # the last one is the top
        self.round = int(table.round)
        self.player = self.round % self.n
        self.hand: Card | None = None
        self.is_first_of_pair = False
        self.under_way: list[Card] = []
        self.turns = Counter()
        self.may_decide_to_knock = False
        self.knocker: int | None = None
        self.is_over = False
        self.scores: list[int] | None = None

    def legal(self) -> list[int]:
        if self.may_decide_to_knock:
            return [95, 96]
        if self.hand is None:
            can_take = self.discard_pile and self.discard_pile[-1].is_number
            return [0, 1, 2, 3, 4] if can_take else [4]
        if self.hand.is_number:
            return [5, 6, 7, 8, 9]
        return [5] + {
            "S": sorted(
                10 + 20 * own + 4 * (k - 1) + other
                for own in range(4)
                for k in range(1, self.n)
                for other in range(4)
            ),
            "P": [90, 91, 92, 93],
            "D": [94],
        }[self.hand.sign]

    def play(self, action: int, table: Table) -> None:
        """The action, after the record has taken it too."""
        row = self.rows[self.player]
        if action < 4:
            card = self.discard_pile.pop()
            card.seen_by = set(self.players)
            self.replace(row, action, card)
            self.end_turn()
        elif action == 4:
            self.draw(table)
        elif action == 5:
            self.discard_pile.append(self.hand)
            if self.is_first_of_pair:
                self.draw(table)
                self.is_first_of_pair = False
            else:
                self.end_turn()
        elif action < 10:
            self.replace(row, action - 6, self.hand)
            self.end_turn()
        elif action < 90:
            own, rest = divmod(action - 10, 20)
            k, other = divmod(rest, 4)
            other_row = self.rows[(self.player + k + 1) % self.n]
            row[own], other_row[other] = other_row[other], row[own]
            self.discard_pile.append(self.hand)
            self.end_turn()
        elif action < 94:
            row[action - 90].seen_by.add(self.player)
            self.discard_pile.append(self.hand)
            self.end_turn()
        elif action == 94:
            self.under_way.append(self.hand)
            self.draw(table)
            self.is_first_of_pair = True
        else:
            if action == 95:
                self.knocker = self.player
            self.next_turn()

    def draw(self, table: Table) -> None:
        if not self.draw_pile:
            drawn_and_left = table.in_hand + table.draws
            assert Counter(drawn_and_left) == Counter(card.sign for card in self.discard_pile)
            self.filling += 1
            self.draw_pile = [Card(sign, self.filling) for sign in drawn_and_left]
            self.discard_pile = []
        self.hand = self.draw_pile.pop(0)
        self.hand.seen_by = {self.player}

    def replace(self, row: list[Card], slot: int, card: Card) -> None:
        self.discard_pile.append(row[slot])
        card.is_surely_a_number = True
        card.filling = self.filling
        row[slot] = card

    def end_turn(self) -> None:
        while self.under_way:
            self.discard_pile.append(self.under_way.pop())
        self.hand = None
        self.is_first_of_pair = False
        self.turns[self.player] += 1
        if self.knocker is None and all(self.turns[player] for player in self.players):
            self.may_decide_to_knock = True
        else:
            self.next_turn()

    def next_turn(self) -> None:
        self.may_decide_to_knock = False
        self.player = (self.player + 1) % self.n
        if self.player == self.knocker:
            self.reveal()

    def reveal(self) -> None:
        """Where the draw pile lasts; else ``scores`` stays None."""
        self.is_over = True
        for k in self.players:
            row = self.rows[(self.knocker + k) % self.n]
            for slot in range(4):
                while not row[slot].is_number:
                    if not self.draw_pile:
                        return
                    row[slot] = self.draw_pile.pop(0)
        self.scores = [sum(int(card.sign) for card in row) for row in self.rows]

    def assert_same(self, table: Table) -> None:
        """Everything in the record is as it is here; of a round that is over, the scores."""
        assert self.is_over == (table.round > self.round)
        if self.is_over:
            if self.scores is not None:
                assert table.round_scores[: self.n].tolist() == self.scores
            return
        phase = "drawn" if self.hand else "turn"
        assert table.phase_name == ("knock" if self.may_decide_to_knock else phase)
        assert table.current_player == self.player
        assert table.legal() == self.legal()
        assert [table.row_of(player) for player in self.players] == [
            "".join(card.sign for card in row) for row in self.rows
        ]
        assert table.draws == "".join(card.sign for card in self.draw_pile)
        assert table.discards == Counter(card.sign for card in self.discard_pile)
        assert table.top == (self.discard_pile[-1].sign if self.discard_pile else "")
        assert table.in_hand == (self.hand.sign if self.hand else "")
        assert table.draw_twos == len(self.under_way)
        assert table.first_of_pair == self.is_first_of_pair
        assert table.knocker == (-1 if self.knocker is None else self.knocker)
        slots = [(player, slot) for player in self.players for slot in range(4)]
        for player in self.players:
            seen = {at for at in slots if player in self.rows[at[0]][at[1]].seen_by}
            assert table.knows(player) == seen
        numbers = [(p, slot) for p, slot in slots if self.rows[p][slot].is_surely_a_number]
        assert table.is_number == places(*numbers)
        older = [[card.filling < self.filling for card in row] for row in self.rows]
        assert table.observe(0)["older"][: self.n].tolist() == older
