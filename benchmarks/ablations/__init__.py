"""What CPGD's parts do: studies of Table 2 of its paper and of what the paper leaves open."""
