"""Episodes with tools: what the tool is worth, and whether a price per call changes its use."""
