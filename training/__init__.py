"""Training, evaluation and tournaments; run the modules with ``python -m training.<name>``."""
