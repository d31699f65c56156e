"""Programs as agents: ``cmd:PROGRAM ARGS``, a process that is asked over its standard input.

docs/programs.md describes the protocol.
"""

from card_envs.agents.programs.agent import ProgramAgent
from card_envs.agents.programs.names import is_program, read_name
from card_envs.agents.programs.reports import FaultCount, ProgramReport, merged

__all__ = [
    "FaultCount",
    "ProgramAgent",
    "ProgramReport",
    "is_program",
    "merged",
    "read_name",
]
