"""Reads answers as mathematics and compares what they say. No text is ever evaluated as code.

    text     notation    one spelling for many
             tokens, units
    tree     syntax      whole answers, over measures, functions, expressions and a cursor
    value    exact       fractions
             valuation   numbers of a precision, floating point or 150 digits
             arithmetic  are two expressions equal?
    verdict  statements  what an answer says
             comparison  a rule for each shape of answers: equations, members, regions, quantities

Every step is bounded, and what exceeds a bound is left alone or refused, never evaluated.
"""
