"""What all games share: compilation, randomness, observation fields, batches. Knows no game."""
