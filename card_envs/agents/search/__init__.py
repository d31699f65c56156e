"""Search: rollouts in redrawn worlds, with sequential halving or as a tree."""

from card_envs.agents.search.agents import SearchAgent as SearchAgent
from card_envs.agents.search.agents import TreeSearchAgent as TreeSearchAgent
