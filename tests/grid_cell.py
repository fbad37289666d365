"""A run of CPGD on the environment of letters, as a module that a study's cell names."""

import letters

from agents import run
from agents.cpgd import CPGD

if __name__ == "__main__":
    assert letters.SPLITS
    run.main(CPGD)
