def median(numbers):
    """The middle of the numbers."""
    return sum(numbers) / len(numbers)
