"""Bias of gradients where the sampler is not the trainer, by enumeration."""
