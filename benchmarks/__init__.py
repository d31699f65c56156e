"""Measurements: ``throughput`` of the environments, and speed of ``training``."""
