"""Closed intervals as pairs of numbers."""


def merge(intervals):
    """The same points in as few intervals as possible, in order."""
    merged = []
    for start, end in sorted(intervals):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def total(intervals):
    """How long they are together; what is covered twice counts once."""
    return sum(end - start for start, end in merge(intervals))
