"""Official scoring rules, one module a benchmark."""
