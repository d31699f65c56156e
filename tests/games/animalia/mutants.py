"""Faults in Animalia that its tests must catch (``tests/mutants.py``)."""

# What is wrong, the file in the game's package, before, after, the tests.
MUTANTS = [
    (
        "rules: the most elegant collection brings one bonus card only",
        "rules.py",
        "2 if winners == 1 else 1",
        "1",
        "tests/games/animalia/test_rules.py",
    ),
    (
        "rules: who took the lot deals next, not who is to the dealer's left",
        "rules.py",
        "s.dealer = next_incomplete(s, int(s.dealer))",
        "s.dealer = next_incomplete(s, int(s.current_player))",
        "tests/games/animalia/test_rules.py",
    ),
]
