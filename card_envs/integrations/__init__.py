"""Adapters for third-party tools; each is imported only where it is used."""
