"""Small helpers for lists of numbers."""


def mean(values):
    """The arithmetic mean; None for an empty list."""
    if not values:
        return None
    return sum(values) / len(values)


def median(values):
    """The median; None for an empty list."""
    if not values:
        return None
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle]
