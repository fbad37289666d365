"""Reads answers as mathematics: text, to tokens, to a tree, to values that can be compared.

Every step is bounded: what is too long, too deep or too large is left alone, never evaluated.
"""
