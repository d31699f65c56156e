"""Tests of the rules on a GPU: ``make test-cuda``.

They run twice: as they are, and in Numba's CUDA simulator. Neither needs a GPU, but for
``test_gpu.py``, which is skipped where there is none.
"""

from __future__ import annotations

from importlib.util import find_spec

import numba

if numba.config.ENABLE_CUDASIM:
    collect_ignore = ["test_compilation.py", "test_gpu.py"]
elif find_spec("numba_cuda"):
    collect_ignore = ["test_simulated.py", "test_device_games.py"]
else:
    collect_ignore_glob = ["test_*.py"]
