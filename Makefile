# Every target works on a fresh clone: .venv is made and filled when it is missing or outdated.
# The first of these that is there.
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13; do command -v $$name && exit; done; echo python3)
BIN := .venv/bin
GAMES := $(notdir $(patsubst %/RULES.md,%,$(wildcard card_envs/games/*/RULES.md)))

TRAIN := $(addprefix train-,$(GAMES))

.PHONY: demo check test test-slow test-bounds test-lowest test-python test-wheel test-integrations test-web test-cuda test-cuda-install gpu gpu-train gpu-wheels release-check docs lint bench bench-algorithms strength soak $(TRAIN)

# It replaces the run that it made before.
demo: .venv/installed
	rm -rf runs/demo
	$(BIN)/python -m training.train configs/quickstart.yaml --out runs/demo
	$(BIN)/python -m training.evaluate franks_zoo --deals 500 --seed 1 \
		--agents runs/demo/ppo.safetensors ppo heuristic
	@echo "Learning curve: runs/demo/learning_curve.png"

check: lint test

# Tests start hundreds of Pythons, each of which would compile the sources again.
test test-slow: export PYTHONDONTWRITEBYTECODE :=

# Three processes on two cores, since many tests wait for programs.
test: .venv/installed
	$(BIN)/python tests/compile_rules.py
	$(BIN)/python -m pytest -n 3 -m "not slow"

# What takes longer: larger samples, all table sizes, and what training needs.
test-slow: .venv/installed
	$(BIN)/python tests/compile_rules.py
	$(BIN)/python -m pytest -n 2 -m slow

# Kernels with all indices checked, over thousands of decisions of each game.
test-bounds: .venv/installed
	$(BIN)/python tests/check_bounds.py

# The lowest versions that the package supports, in an environment of its own, without training.
test-lowest:
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --upgrade "pip >= 25.1"
	.venv-lowest/bin/python -m pip install --quiet --constraint constraints-lowest.txt \
		--editable ".[completion,evaluation,onnx,render,web]" --group test
	.venv-lowest/bin/python tests/compile_rules.py
	.venv-lowest/bin/python -m pytest -n 2

# A wheel, installed and tried outside the repository.
test-wheel:
	rm -rf .venv-wheel dist
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --upgrade "pip >= 25.1" build
	.venv-wheel/bin/python -m build --wheel --outdir dist
	.venv-wheel/bin/python -m pip install --quiet --constraint constraints.txt \
		"$$(ls dist/card_envs-*.whl)[evaluation]"
	.venv-wheel/bin/python tests/try_wheel.py

# What a release needs, up to publishing: wheel and sdist are built, checked and tried.
release-check:
	rm -rf .venv-release .venv-wheel dist
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install --quiet --upgrade "pip >= 25.1"
	.venv-release/bin/python -m pip install --quiet --constraint constraints.txt --group release
	.venv-release/bin/python -m build --outdir dist
	.venv-release/bin/python -m twine check --strict dist/*
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --constraint constraints.txt \
		"$$(ls dist/card_envs-*.whl)[evaluation]"
	.venv-wheel/bin/python tests/try_wheel.py

# The documentation as a site, in site/; every warning is an error. It shows a few decisions of a
# game, for which nothing needs to be compiled.
docs:
	test -x .venv-docs/bin/python || $(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --upgrade "pip >= 25.1"
	.venv-docs/bin/python -m pip install --quiet --constraint constraints.txt \
		--editable ".[evaluation]" --group docs
	NO_MKDOCS_2_WARNING=1 NUMBA_DISABLE_JIT=1 .venv-docs/bin/python -m mkdocs build --strict

# Another Python, such as `make test-python PYTHON=python3.13`, in an environment of its own.
OTHER = .venvs/$(notdir $(PYTHON))
test-python:
	test -x $(OTHER)/bin/python || $(PYTHON) -m venv $(OTHER)
	$(OTHER)/bin/python -m pip install --quiet --upgrade "pip >= 25.1"
	$(OTHER)/bin/python -m pip install --quiet --constraint constraints.txt \
		--editable ".[evaluation,render,web,datasets,onnx,completion]" --group train --group bench --group dev
	$(OTHER)/bin/python tests/compile_rules.py
	$(OTHER)/bin/python -m pytest -n 2

# Tools of others, each in an environment of its own (.venvs/<tool>).
test-integrations:
	$(PYTHON) tests/integrations/run.py $(TOOLS)

# The page in a real browser: Debian's package chromium, or the one that $CHROMIUM names. Screenshots
# go to .venvs/screenshots.
test-web:
	test -x .venvs/web/bin/python || $(PYTHON) -m venv .venvs/web
	.venvs/web/bin/python -m pip install --quiet --upgrade "pip >= 25.1"
	.venvs/web/bin/python -m pip install --quiet --constraint constraints.txt \
		--editable ".[web]" --group browser --group dev
	.venvs/web/bin/python tests/compile_rules.py  # else the page waits for it
	.venvs/web/bin/python -m pytest tests/browser

# The rules on a GPU, in an environment of their own. Without a GPU: compiled for one, and in Numba's
# simulator.
test-cuda: .venv/installed
	test -x .venvs/cuda/bin/python || $(PYTHON) -m venv .venvs/cuda
	.venvs/cuda/bin/python -m pip install --quiet --upgrade "pip >= 25.1"
	.venvs/cuda/bin/python -m pip install --quiet --constraint constraints.txt \
		--constraint constraints-cuda.txt --editable ".[cuda]" hypothesis pytest pytest-xdist
	.venvs/cuda/bin/python -m pytest -n 2 tests/cuda
	NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1 .venvs/cuda/bin/python -m pytest -n 2 tests/cuda
	$(BIN)/python -m pytest tests/cuda/test_measuring.py
	NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/cuda/test_device_games.py

# The extra as a user installs it, without our constraints: `make test-cuda-install PYTHON=python3.13`.
test-cuda-install:
	rm -rf .venv-extra
	$(PYTHON) -m venv .venv-extra
	.venv-extra/bin/python -m pip install --quiet ".[cuda]"
	.venv-extra/bin/python -P -c "import card_envs.engine.cuda_jit"

# On a machine with a GPU: everything that needs one, within MINUTES, with results in OUT. It runs
# with that machine's GPU_PYTHON and PyTorch; what these lack comes from WHEELS, without a network.
GPU_PYTHON ?= python3
MINUTES ?= 8
CONFIG ?= configs/beaver_gang.yaml
OUT ?= runs/gpu
GPU = PYTHONPATH="$$PWD$(if $(WHEELS),:$$PWD/.gpu-site)" $(GPU_PYTHON) -m benchmarks.gpu \
	--minutes $(MINUTES) --config $(CONFIG) --out $(OUT) $(if $(SET),--set $(SET))

gpu: gpu-site
	$(GPU)

gpu-train: gpu-site
	$(GPU) --only train

.PHONY: gpu-site
gpu-site:
ifdef WHEELS
	$(GPU_PYTHON) -m pip install --quiet --no-index --no-deps --no-compile --upgrade \
		--target .gpu-site $(WHEELS)/*.whl
endif

# What an image with PyTorch, numba-cuda and SciPy usually lacks, for `make gpu WHEELS=wheels`; its
# Python is GPU_VERSION.
GPU_VERSION ?= 3.12
gpu-wheels:
	$(PYTHON) -m pip download --quiet --no-deps --only-binary=:all: --constraint constraints.txt \
		--python-version $(GPU_VERSION) --implementation cp $(foreach tag,manylinux_2_28_x86_64 \
		manylinux_2_27_x86_64 manylinux_2_17_x86_64 manylinux2014_x86_64,--platform $(tag)) \
		--dest wheels annotated-types cloudpickle farama-notifications gymnasium numpy pettingzoo \
		platformdirs pydantic pydantic-core sb3-contrib stable-baselines3 typing-inspection

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/installed
	for game in $(GAMES); do for benchmark in throughput decision training rendering text; do \
		$(BIN)/python -m benchmarks.$$benchmark --game $$game \
			--json runs/bench/$${benchmark}_$$game.json && \
		$(BIN)/python -m benchmarks.tables runs/bench/$${benchmark}_$$game.json || exit 1; \
	done; done

# Ways to learn, compared: all cells that are missing, hours on many cores. ALGORITHMS="--backend ray"
# makes them on a Ray cluster.
bench-algorithms: .venv/installed
	test -x .venvs/rllib/bin/python -a -x .venvs/tianshou/bin/python || \
		$(MAKE) test-integrations TOOLS="rllib tianshou"
	$(BIN)/python -m benchmarks.algorithms --json runs/algorithms/algorithms_all.json \
		--plot runs/algorithms/algorithms_all.png $(ALGORITHMS)
	$(BIN)/python -m benchmarks.tables runs/algorithms/algorithms_all.json

strength: .venv/installed
	for game in $(GAMES); do \
		$(BIN)/python -m benchmarks.strength --game $$game \
			--json benchmarks/results/strength_$$game.json && \
		$(BIN)/python -m training.best_response configs/$$game.yaml \
			--json training/results/best_response_$$game.json && \
		$(BIN)/python -m benchmarks.all_agents --game $$game \
			--json benchmarks/results/all_agents_$$game.json || exit 1; \
	done

soak: .venv/installed
	$(BIN)/python -m benchmarks.soak --decisions 1000000000 \
		--json benchmarks/results/soak_all.json

# A new policy by self-play, in hours; what made the shipped one, its card says.
$(TRAIN): train-%: .venv/installed
	$(BIN)/python -m training.train configs/$*.yaml

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip >= 25.1"  # which knows dependency groups
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[evaluation,render,web,datasets,onnx,completion]" \
		--group train --group bench --group dev
	touch $@
