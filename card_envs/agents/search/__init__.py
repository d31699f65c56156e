"""Search: rollouts in redrawn worlds, with sequential halving or as a tree."""
