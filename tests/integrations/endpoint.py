"""An endpoint with OpenAI's chat completions, whose model takes the last legal action of a text."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def legal_answer(text):
    """The last legal action of a text, by its number."""
    numbers = re.findall(r"^ {2,}(\d+) {2}\S", text.rpartition("\n\n")[2], re.MULTILINE)
    return f"I choose [{numbers[-1]}]"


class Endpoint(BaseHTTPRequestHandler):
    """Chat completions of a model that takes the last legal action."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = {"role": "assistant", "content": legal_answer(body["messages"][-1]["content"])}
        about = {
            "id": "1",
            "created": 0,
            "model": body["model"],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        if body.get("stream"):
            about["object"] = "chat.completion.chunk"
            choices = [
                {"index": 0, "delta": reply, "finish_reason": None},
                {"index": 0, "delta": {}, "finish_reason": "stop"},
            ]
            events = [json.dumps({**about, "choices": [choice]}) for choice in choices]
            answer = "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"])
        else:
            about["object"] = "chat.completion"
            choice = {"index": 0, "message": reply, "finish_reason": "stop"}
            answer = json.dumps({**about, "choices": [choice]})
        self.send_response(200)
        kind = "text/event-stream" if body.get("stream") else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def serve_model() -> Iterator[str]:
    """The endpoint's address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()
