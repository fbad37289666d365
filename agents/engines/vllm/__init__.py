"""Sampling with vLLM, in the trainer's process or on a server that takes its weights."""
