def median(numbers):
    """The middle of the numbers, in the order of their size; of an even number of them, the mean of the middle two."""
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 0:
        return (ordered[middle - 1] + ordered[middle]) / 2
    return ordered[middle]
