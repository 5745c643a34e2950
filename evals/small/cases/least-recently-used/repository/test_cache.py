import unittest

from cache import Cache


class CacheTest(unittest.TestCase):
    def test_what_was_put_is_there(self):
        cache = Cache(2)
        cache.put("a", 1)
        self.assertEqual(cache.get("a"), 1)
        self.assertEqual(cache.get("b", 7), 7)

    def test_it_holds_no_more_than_its_size(self):
        cache = Cache(2)
        for key in "abc":
            cache.put(key, key)
        self.assertEqual(len(cache), 2)
        self.assertIsNone(cache.get("a"))


if __name__ == "__main__":
    unittest.main()
