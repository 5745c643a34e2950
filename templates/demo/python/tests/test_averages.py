import unittest

from averages import mean, median


class Averages(unittest.TestCase):
    def test_mean_of_nothing(self):
        self.assertIsNone(mean([]))

    def test_mean_of_three_values(self):
        self.assertEqual(mean([1, 2, 6]), 3)

    def test_median_of_an_odd_number_of_values(self):
        self.assertEqual(median([9, 1, 5]), 5)
