"""Faults in Frank's Zoo that its tests must catch (``tests/mutants.py``)."""

# What is wrong, the file in the game's package, before, after, the tests.
MUTANTS = [
    (
        "rules: juniors may ask a senior who has no cards left",
        "legal.py",
        "return is_junior(s, player) and s.hand_size[s.partner[player]] > 0",
        "return is_junior(s, player)",
        "tests/games/franks_zoo/test_rules.py",
    ),
    (
        "rules: the dealer is dealt to first",
        "rules.py",
        "        player = to_the_left(s, player)\n        s.hand[player, draw_card",
        "        s.hand[player, draw_card",
        "tests/games/franks_zoo/test_rules.py tests/test_playthroughs.py -k franks_zoo",
    ),
    (
        "hiding: what partners have given each other is not redrawn",
        "knowledge.py",
        "if s.is_senior[senior] == 1 and player != senior and player != s.partner[senior]:",
        "if s.is_senior[senior] == 2:",
        "tests/test_hidden_information.py -k franks_zoo",
    ),
    (
        "hiding: the table in words tells everybody the first card of a gift",
        "scene.py",
        'if mover == observer and s["gift"] != NO_CARD:',
        'if s["gift"] != NO_CARD:',
        "tests/games/franks_zoo/test_text.py -k hidden",
    ),
    (
        "hiding: the others hear which card is given away",
        "actions.py",
        'return "give away a card" if kind == "give" else ACTIONS.name(action)',
        "return ACTIONS.name(action)",
        "tests/games/franks_zoo/test_text.py tests/text tests/programs -k franks_zoo",
    ),
    (
        "determinism: every hand is dealt from the stream that the one before has left",
        "rules.py",
        "    seed_stream(s, s.seed, s.hand_number)\n",
        "    seed_stream(s, s.rng, s.hand_number)\n",
        "tests/test_determinism.py tests/test_playthroughs.py -k franks_zoo",
    ),
]
