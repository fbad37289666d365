# `make reproduce` runs what benchmarks/raw lacks of every study, with GRID="--output FOLDER" all of it
# anew; `make reproduce-smoke` a few runs of seconds of each.
# More of its options: make reproduce GRID="--jobs 2 --seeds 0 1 2"
PYTHON ?= python

.PHONY: reproduce reproduce-smoke tables
reproduce:
	$(PYTHON) -m benchmarks.grid all $(GRID)
reproduce-smoke:
	$(PYTHON) -m benchmarks.grid all --smoke $(GRID)
tables: # from the records in benchmarks/raw alone
	$(PYTHON) -m benchmarks.grid all --draw $(GRID)
