"""Runs studies, many training runs that differ in algorithm and seed, and says what they show.

    python -m benchmarks.grid stability/pilot --output runs/studies    # what is missing of a study
    python -m benchmarks.grid rpg/rate --seeds 0 --output runs/studies   # of these seeds alone
    python -m benchmarks.grid rpg/rate --check --output runs/studies   # a second run is equal
    python -m benchmarks.grid all --smoke                     # minutes, to see that it works
    python -m benchmarks.grid stability/figure1 --draw        # the kept tables and pictures again

A study is a file such as `benchmarks/stability/figure1.py`: `STUDY`, its cells and seeds. Runs
take the cores, one thread each, or the GPUs at hand. What is done is not run again, whichever study
asked for it; what was stopped goes on from its checkpoint; Ctrl-C saves. Of each run its metrics,
step by step, and its evaluations are kept in `raw/`, and tables and pictures are made from these
files alone.
"""
