"""Test tools of others, each in an environment of its own: ``.venvs/<tool>``.

    python tests/integrations/run.py [TOOL …]

A tool is installed as ``<tool>.txt`` says, with uv if it is there, else with pip.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).parent
_ROOT = _HERE.parent.parent
TOOLS = tuple(sorted(path.stem for path in _HERE.glob("*.txt")))


def _python(tool: str) -> Path:
    folder = _ROOT / ".venvs" / tool
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _install(tool: str) -> None:
    python = _python(tool)
    needed = ["-r", str(_HERE / f"{tool}.txt"), "-e", f"{_ROOT}[evaluation]"]
    needed += ["hypothesis", "pytest>=8"]
    uv = shutil.which("uv")
    if uv:
        if not python.exists():
            subprocess.run([uv, "venv", "-p", sys.executable, python.parents[1]], check=True)
        subprocess.run([uv, "pip", "install", "-q", "-p", python, *needed], check=True)
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *needed], check=True)


def main(tools: list[str]) -> int:
    """Test the tools named, or all; the exit status is 0 if all passed."""
    unknown = sorted(set(tools) - set(TOOLS))
    if unknown:
        print(f"there is no tool {', '.join(unknown)}; the tools are {', '.join(TOOLS)}")
        return 2
    failed = []
    for tool in tools or TOOLS:
        print(f"== {tool}", flush=True)
        try:
            _install(tool)
            test = [_python(tool), "-m", "pytest", _HERE / f"test_{tool}.py"]
            subprocess.run(test, check=True, cwd=_ROOT)
        except subprocess.CalledProcessError:
            failed.append(tool)
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
