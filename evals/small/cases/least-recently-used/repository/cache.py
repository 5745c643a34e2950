"""A cache that forgets what was not used for the longest time."""


class Cache:
    def __init__(self, size):
        if size < 1:
            raise ValueError("a cache holds at least one entry")
        self._size = size
        self._entries = {}

    def __len__(self):
        return len(self._entries)

    def get(self, key, default=None):
        return self._entries.get(key, default)

    def put(self, key, value):
        self._entries[key] = value
        while len(self._entries) > self._size:
            oldest = next(iter(self._entries))
            del self._entries[oldest]
