from duration import seconds

for text, expected in [("1h30m", 5400), ("90s", 90), ("1d", 86400), ("2d3h4m5s", 183845), ("0s", 0), ("1d5s", 86405)]:
    assert seconds(text) == expected, text
for text in ["", "1h30", "5 minutes", "30m1h", "1h1h", "soon", "1.5h", "-1h", "1h 30m", " 1h", "1h\n", "h", "1H"]:
    try:
        found = seconds(text)
    except ValueError:
        continue
    raise AssertionError(f"{text!r} was read as {found}")
