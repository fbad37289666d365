"""Second solvers of charts, tables, chance, time, graphs and patterns."""

SOLVERS = {}
