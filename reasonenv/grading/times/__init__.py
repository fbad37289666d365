"""Times of day, dates and durations.

clock       times of day
dates       dates in their common spellings
durations   durations of several units as one number
"""
