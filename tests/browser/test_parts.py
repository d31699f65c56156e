"""Single modules of the page, with data that no game has to produce first."""

from __future__ import annotations

import pytest


@pytest.fixture
def run(visit, serve):
    """Runs the body of a function in the page; ``load`` imports one of its modules."""
    page = visit(serve())

    def evaluate(body):
        return page.evaluate(
            "async () => { const load = (name) => import(`/static/${name}.js`);" + body + "}"
        )

    return evaluate


def test_the_end_of_the_game_names_the_winners_and_nothing_is_a_number(run):
    """A total of 0 is written, and only the cards that nobody has are a dot."""
    words = run(
        """
        const { drawRoundEnd } = await load("round_end");
        const results = [{ title: "hand 1", head: ["", "fox", "total"], rows: [["you", 0, 0]] }];
        const said = (standing) => drawRoundEnd(
          results, { scene: { seats: [{ player: 0, label: "you", zones: [] }], standing },
          leaders: [0] }, { faces: { fox: { colour: "#123456" } } }, null);
        const place = (label, place) => ({ label, place });
        const ends = [[], [place("you", 1), place("player 1", 2)],
          [place("player 1", 1), place("player 2", 1), place("you", 3)], [place("player 1", 1)]];
        return [...ends.map((end) => said(end).querySelector(".leader").textContent),
          [...said([]).querySelectorAll("tbody td")].map((cell) => cell.textContent).join()];
        """
    )
    assert words == ["You lead.", "You win.", "Player 1 and player 2 win.", "Player 1 wins.", "·,0"]


def test_many_actions_that_fit_are_counted_and_the_last_one_left_is_the_main_one(run):
    found = run(
        """
        const { Pointing } = await load("pointing");
        const { drawChoices } = await load("choices");
        const legal = Array.from({ length: 20 }, (_, k) => (
          { action: k, words: `take ${k}`, group: "take #", needs: { row: 1, [`card ${k}`]: 1 } }));
        const pointing = new Pointing(legal);
        const drawn = () => drawChoices(pointing, { onact() {}, onclear() {} });
        const buttons = () => [...drawn().querySelectorAll(":scope > button[data-action]")];
        pointing.set("row", 1);
        const many = [buttons().length, drawn().querySelector(".hint").textContent];
        pointing.clear();
        pointing.set("card 3", 1);
        const [one] = buttons();
        return [...many, one.textContent, one.className, pointing.settled.action];
        """
    )
    assert found == [0, "20 actions fit: point at more cards.", "Take 3", "main", 3]


def test_rules_come_in_the_order_of_what_is_asked_and_heads_stand_above_their_words(run):
    found = run(
        """
        const { guideOf } = await load("guide");
        const text = "# G\\n\\nPass or take.\\n<!-- for: pass -->\\n\\n" +
          "Steal.\\n<!-- for: steal -->\\n\\n| card | power |\\n| --- | --- |\\n| a | b |\\n";
        window.fetch = async () => ({ ok: true, text: async () => text });
        const guide = await guideOf({ id: "g" });
        const heads = guide.draw().flatMap((each) => [...each.querySelectorAll("th[scope=col]")]);
        return [...guide.rulesFor("Your turn: steal a card, or pass.").map((rule) => rule.text),
          heads.every((head) => head.className === "words")];
        """
    )
    assert found == ["Steal.", "Pass or take.", True]


def test_cards_come_to_places_by_name_but_not_to_numbered_slots(run):
    """A card named "0" has not come to slot 0."""
    found = run(
        """
        const { arrivals } = await load("motion");
        const zone = (name, layout, cards) => (
          { name, layout, cards: cards.map((card) => ({ name: card, count: 1 })) });
        const scene = (slots, row) => ({ zones: [zone("row", "row", row)],
          seats: [{ player: 1, zones: [zone("slot", "slots", slots)] }] });
        return [...arrivals(scene(["5", "7"], []), scene(["5", "0"], ["7"]))];
        """
    )
    assert found == [["-/row/7", 1]]
