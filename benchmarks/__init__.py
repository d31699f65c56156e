"""Measurements: ``throughput`` of the environments, speed of ``training``, strength, soak."""

import sys

from card_envs.utils.interrupts import say_interrupted

if sys.argv[0] == "-m":  # run as a command
    say_interrupted()
