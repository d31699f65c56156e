"""The program ``card-envs``."""
