# Every target works on a fresh clone: .venv is made and filled when it is missing or outdated.
PYTHON ?= python3.11
BIN := .venv/bin
GAMES := $(notdir $(patsubst %/RULES.md,%,$(wildcard card_envs/games/*/RULES.md)))

.PHONY: demo test lint bench train-beaver_gang train-swim_for_your_life train-franks_zoo

demo: .venv/installed
	rm -rf runs/demo
	$(BIN)/python -m training.train configs/quickstart.yaml --out runs/demo
	$(BIN)/python -m training.evaluate beaver_gang --deals 500 --seed 1 \
		--agents runs/demo/ppo.safetensors ppo heuristic heuristic
	@echo "Learning curve: runs/demo/learning_curve.png"

test: .venv/installed
	$(BIN)/python -m pytest -n 2

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/installed
	for game in $(GAMES); do \
		$(BIN)/python -m benchmarks.throughput --game $$game && \
		$(BIN)/python -m benchmarks.training --game $$game || exit 1; \
	done

train-beaver_gang: .venv/installed
	$(BIN)/python -m training.train configs/beaver_gang.yaml

train-swim_for_your_life: .venv/installed
	$(BIN)/python -m training.train configs/swim_for_your_life.yaml

train-franks_zoo: .venv/installed
	$(BIN)/python -m training.train configs/franks_zoo.yaml

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[train,bench,dev]"
	touch $@
