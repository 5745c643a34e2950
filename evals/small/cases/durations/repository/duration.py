"""Durations as people write them."""

import re

UNITS = {"s": 1, "m": 60, "h": 3600}


def seconds(text):
    """The seconds in a text such as `90s` or `2h`. ValueError when it is none."""
    found = re.match(r"(\d+)([smh])", text)
    if not found:
        raise ValueError(f"{text!r} is no duration")
    return int(found.group(1)) * UNITS[found.group(2)]
