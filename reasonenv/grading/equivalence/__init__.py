"""Reads answers as mathematics and compares what they say. No text is ever evaluated as code.

    text     notation    one spelling for many, over rarer spellings
             tokens, units
    tree     syntax      whole answers, over measures, functions, expressions, numerals and a cursor
    value    exact       fractions
             valuation   numbers of a precision, floating point or 150 digits
             arithmetic  are two expressions equal?
    verdict  statements  what an answer says
             comparison  a rule for each shape of answers: equations, members, regions, quantities

What exceeds a bound is left alone or refused, never evaluated, so that one comparison takes 20 ms
of CPU in texts made to be slow, and 0.05 ms on average:

- A text has 1024 characters and 400 tokens at most (`syntax`), brackets 24 levels (`cursor`).
- A number has 24,000 bits at most, on the way to it as well (`exact`).
- An expression is evaluated at most at 8 points in floating point and at 2 to 150 digits, twice
  where it has a logarithm to a base unsaid; once, however often it is compared (`arithmetic`).
- Of members in any order, those that are equal as trees are paired at once, and of the others no
  more than 1024 pairs are compared (`members`).

No bound depends on a clock or on what was compared before: equal questions have equal answers.
"""
