"""Parsing: the text of an answer to a tree of nodes. No text is ever evaluated as code.

    notation, spellings    one notation for Unicode, LaTeX and plain text
    tokens, units          tokenizer
    grammar                recursive-descent parser of whole answers, over measurements, functions,
                           expressions, numerals, lookahead and the cursor
    nodes                  the tree

A text has 1024 characters and 400 tokens at most (`grammar`) and 24 levels of brackets (`cursor`);
anything beyond is rejected.
"""
