"""Learners of other libraries, run by ``benchmarks.algorithms``: each leaves a policy file."""
