"""Learners of other libraries, as ``benchmarks.algorithms`` runs them: each leaves a policy file."""
