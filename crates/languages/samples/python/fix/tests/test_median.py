from median import median


def test_one():
    assert median([7]) == 7


def test_odd():
    assert median([1, 2, 9]) == 2


def test_unsorted():
    assert median([9, 1, 2]) == 2


def test_even():
    assert median([1, 2, 3, 4]) == 2.5
