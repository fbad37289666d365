"""Values of expressions: exact fractions, floating point, up to 150 digits."""
