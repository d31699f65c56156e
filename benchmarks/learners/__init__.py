"""The learners that ``benchmarks.algorithms`` compares: each leaves a policy file."""
