from statistic import mean, median

assert median([1, 2, 3, 4]) == 2.5
assert median([4, 1]) == 2.5
assert median([7, 7]) == 7
assert median([3, 1, 2]) == 2
assert median(iter([10, 2, 4, 8])) == 6
assert median([]) is None
values = [9, 1, 5, 3]
median(values)
assert values == [9, 1, 5, 3], "the caller's list was changed"
assert mean([1, 2, 6]) == 3
