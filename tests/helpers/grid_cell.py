"""A run of CPGD on the environment of letters, as a module that a study's cell names."""

from agents import run
from agents.cpgd import CPGD
from helpers import letters  # noqa: F401 - registers Letters-v0

if __name__ == "__main__":
    run.main(CPGD)
