"""Adapters for tools of others; each is imported only where it is used."""
