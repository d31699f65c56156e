"""``card-envs serve``: the games in a browser, with the extra ``web``."""
