def median(numbers):
    """The middle of the numbers, in the order of their size."""
    if not numbers:
        raise ValueError("there is no median of no numbers")
    ordered = sorted(numbers)
    return ordered[len(ordered) // 2]
