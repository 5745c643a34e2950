def median(numbers):
    """The middle of the numbers, in the order of their size."""
    ordered = sorted(numbers)
    return ordered[len(ordered) // 2]
