"""What RPG's weighting, clip and references do: studies of its claims."""
