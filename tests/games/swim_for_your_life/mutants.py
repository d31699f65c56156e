"""Faults in Swim for Your Life that its tests must catch (``tests/mutants.py``)."""

# What is wrong, the file in the game's package, before, after, the tests.
MUTANTS = [
    (
        "rules: with two players left one card is a majority",
        "state.py",
        "return 2 if players == 2 else 1",
        "return 1",
        "tests/games/swim_for_your_life/test_rules.py",
    ),
    (
        "rules: three cards are enough to lay down four",
        "rules.py",
        "if s.hand[player, animal] == 3:",
        "if s.hand[player, animal] == -1:",
        "tests/games/swim_for_your_life/test_rules.py",
    ),
]
