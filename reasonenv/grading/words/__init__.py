"""Answers in words.

text         comparison of words, texts apart from formulas
phrases      phrases for the lack of a value, by meaning
statements   words that a short sentence states
numbers      numbers in words
counts       sentences with one number in words
"""
