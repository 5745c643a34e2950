import itertools

from intervals import merge, total

assert merge([(1, 2), (2, 3)]) == [(1, 3)]
assert merge([(1, 10), (2, 3)]) == [(1, 10)]
assert merge([(1, 10), (2, 3), (9, 12)]) == [(1, 12)]
assert merge([(0, 0), (0, 0)]) == [(0, 0)]
assert merge([]) == []
assert total([(0, 10), (1, 2)]) == 10

pairs = [(a, b) for a in range(4) for b in range(a, 4)]
for three in itertools.product(pairs, repeat=3):
    merged = merge(list(three))
    covered = lambda x: any(a <= x <= b for a, b in three)
    for x in [y / 2 for y in range(9)]:
        assert covered(x) == any(a <= x <= b for a, b in merged), (three, merged)
    assert all(one[1] < two[0] for one, two in zip(merged, merged[1:])), (three, merged)
