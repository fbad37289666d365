"""Does CPGD stay stable where the others collapse? Studies of figure 1 of its paper."""
