"""Programs as agents: ``cmd:PROGRAM ARGS``, a process that is asked over its standard input.

docs/programs.md describes the protocol.
"""

from card_envs.agents.programs.agent import ProgramAgent
from card_envs.agents.programs.names import is_program, read_name
from card_envs.agents.programs.records import FaultCount, ProgramRecord, merged

__all__ = [
    "FaultCount",
    "ProgramAgent",
    "ProgramRecord",
    "is_program",
    "merged",
    "read_name",
]
