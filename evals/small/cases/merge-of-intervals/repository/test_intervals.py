import unittest

from intervals import merge, total


class Intervals(unittest.TestCase):
    def test_overlapping_ones_become_one(self):
        self.assertEqual(merge([(1, 3), (2, 5)]), [(1, 5)])

    def test_separate_ones_stay(self):
        self.assertEqual(merge([(4, 5), (1, 2)]), [(1, 2), (4, 5)])

    def test_total(self):
        self.assertEqual(total([(0, 2), (1, 4)]), 4)


if __name__ == "__main__":
    unittest.main()
