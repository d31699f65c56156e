"""The games that a learner learns from: who sits where, and what happens between its decisions."""
