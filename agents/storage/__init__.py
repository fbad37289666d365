"""Files of a run: checkpoints, model cards, provenance, atomic writes."""
