"""Numeric evaluation of trees, bounded in size: no bound depends on a clock.

exact         fractions of 24,000 bits at most, intermediate values included
precision     floating point and 150 digits
evaluation    the value of an expression at fixed values of its symbols
equality      equality of expressions: at 8 points in floating point and 2 in 150 digits at most,
twice for a logarithm without a base; each value is computed once
rounding      equality up to rounding of decimals
"""
