"""A run: its configuration, folder, checkpoint, evaluations, and what is recorded of it."""
