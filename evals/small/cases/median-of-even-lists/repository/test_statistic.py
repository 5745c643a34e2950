import unittest

from statistic import mean, median


class Statistic(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([1, 2, 6]), 3)
        self.assertIsNone(mean([]))

    def test_median_of_an_odd_number_of_values(self):
        self.assertEqual(median([5, 1, 3]), 3)
        self.assertIsNone(median([]))


if __name__ == "__main__":
    unittest.main()
