"""Compilation and its cache, random numbers, bits, networks: no game, no table."""
