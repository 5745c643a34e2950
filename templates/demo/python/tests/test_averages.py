import unittest

from averages import mean, median


class AveragesTest(unittest.TestCase):
    def test_the_mean_of_nothing_is_nothing(self):
        self.assertIsNone(mean([]))

    def test_the_mean_is_the_sum_by_the_count(self):
        self.assertEqual(mean([1, 2, 6]), 3)

    def test_the_median_of_an_odd_number_of_values_is_the_middle_one(self):
        self.assertEqual(median([9, 1, 5]), 5)
