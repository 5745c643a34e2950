"""Small statistics."""


def mean(values):
    """The mean, or None of nothing."""
    values = list(values)
    return sum(values) / len(values) if values else None


def median(values):
    """The value in the middle, or None of nothing."""
    values = sorted(values)
    return values[len(values) // 2] if values else None
