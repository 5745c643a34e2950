import unittest

from duration import seconds


class Duration(unittest.TestCase):
    def test_one_unit(self):
        self.assertEqual(seconds("90s"), 90)
        self.assertEqual(seconds("2h"), 7200)

    def test_what_is_none(self):
        with self.assertRaises(ValueError):
            seconds("soon")


if __name__ == "__main__":
    unittest.main()
