from cache import Cache

cache = Cache(2)
cache.put("a", 1)
cache.put("b", 2)
assert cache.get("a") == 1
cache.put("c", 3)
assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)

cache = Cache(2)
cache.put("a", 1)
cache.put("b", 2)
cache.put("a", 10)
cache.put("c", 3)
assert (cache.get("a"), cache.get("b"), len(cache)) == (10, None, 2)

cache = Cache(2)
cache.put("none", None)
cache.put("b", 2)
assert cache.get("none", 5) is None
cache.put("c", 3)
assert cache.get("b") is None and cache.get("none", 5) is None, "None is a value like any other"

cache = Cache(1)
assert cache.get("missing", 9) == 9 and len(cache) == 0, "asking for what is not there puts nothing in"
