"""What knows no game and no kernel: files, optional dependencies, checks, words."""
