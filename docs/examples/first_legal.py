"""A program for the table, in plain Python: it reads lines of JSON and answers with lines of JSON.

card-envs evaluate beaver_gang --agents "cmd:python3 docs/examples/first_legal.py" random
"""

import json
import sys


def say(answer):
    """Answer a message, at once."""
    print(json.dumps(answer), flush=True)


def choose(message):
    """Any of the legal actions: here the first that is not to pass."""
    for legal in message["legal"]:
        if legal["words"] != "pass":
            return legal["action"]
    return message["legal"][0]["action"]


for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        actions = message["game"]["actions"]  # the words of every action, by number
        print(f"{message['game']['title']}: {len(actions)} actions", file=sys.stderr)
        say({"version": 1, "observation": "text"})
    elif message["type"] == "decide":
        say({"game": message["game"], "action": choose(message)})
    elif message["type"] == "end" and message["result"]:
        print(f"game {message['game']}: places {message['result']['places']}", file=sys.stderr)
