"""Multiple choice.

multiple_choice   a letter, an option's text, or both
letters           the letters that an answer chooses, in a word or in prose
"""
