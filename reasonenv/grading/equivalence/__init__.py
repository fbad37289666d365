"""Equivalence of two trees: the verdict on an answer and a reference.

    normal_form    trees without intermediate steps, approximations and ±
    comparison     the rule for each pair of forms: equations, collections, intervals, quantities

Unordered collections compare at most 4096 pairs of elements; identical nodes are paired first. One
comparison takes 0.05 ms on average and 20 ms of CPU on texts made to be slow. Verdicts depend on
no clock and on no earlier comparison: equal pairs have equal verdicts.
"""
