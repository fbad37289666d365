"""From the text of an answer to a tree: notation, tokens, grammar."""
