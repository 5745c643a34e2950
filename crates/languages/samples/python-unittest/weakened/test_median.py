import unittest

from median import median


class MedianTest(unittest.TestCase):
    def test_one(self):
        self.assertEqual(median([7]), 7)

    def test_odd(self):
        self.assertEqual(median([1, 2, 3]), 2)

    def test_unsorted(self):
        self.assertEqual(median([3, 1, 2]), 2)

    def test_even(self):
        self.assertEqual(median([1, 2, 3, 4]), 2.5)
