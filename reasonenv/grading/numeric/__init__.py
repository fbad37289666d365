"""Numeric evaluation of trees, bounded in size: no bound depends on a clock.

exact         fractions of 24,000 bits at most, intermediate values included
evaluation    the value of an expression at fixed values of its symbols, in two precisions
equality      equality of expressions, at a few of these values, and up to rounding of decimals
"""
