"""Faults in Beaver Gang that its tests must catch (``tests/mutants.py``)."""

# What is wrong, the file in the game's package, before, after, the tests.
MUTANTS = [
    (
        "rules: only the first seat to the left can be swapped with",
        "rules.py",
        "targets = SLOTS * (int(s.num_players) - 1)",
        "targets = SLOTS",
        "tests/games/beaver_gang/test_rules.py",
    ),
    (
        "rules: draw-twos under way are not discarded at the end of the turn",
        "rules.py",
        "        discard(s, DRAW_TWO)\n",
        "        pass\n",
        "tests/games/beaver_gang/test_rules.py",
    ),
    (
        "hiding: an observation shows the card that another player has drawn",
        "observation.py",
        "    sees_drawn = s.current_player == me\n",
        "    sees_drawn = True\n",
        "tests/test_hidden_information.py -k beaver_gang",
    ),
    (
        "hiding: without memory all cards that are known are seen",
        "observation.py",
        "observe_rows(s, me, int(s.in_view[me]), out)",
        "observe_rows(s, me, int(s.known[me]), out)",
        "tests/games/beaver_gang/test_hidden_information.py",
    ),
]
