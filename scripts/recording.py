#!/usr/bin/env python3
"""Records `journeyman demo --once` as docs/demo.svg: its lines appear one by one, in about twenty seconds.

    scripts/recording.py PROGRAM             rewrites it
    scripts/recording.py PROGRAM --check     exits with 1 if the demo's output differs from the recording
"""

import html
import pathlib
import re
import subprocess
import sys

PICTURE = pathlib.Path(__file__).parent.parent / "docs/demo.svg"
WIDTH, SECONDS = 112, 18
# Values that differ between runs: ids, commits, times, ports.
CHANGING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{10,40}\b|\d+(\.\d+)?( s\b|…)|:\d{4,5}\b")

demo = subprocess.run([sys.argv[1], "demo", "--once"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True)
# Skip progress lines, which a terminal shows as a spinner, and addresses, which no longer work afterwards.
left_out = ("  …", "GitHub,", "Journeyman:", "pull request:")
shown = [line for line in demo.stderr.splitlines() if not line.startswith(left_out) and "://" not in line]
lines = ["$ journeyman demo --once", *shown, *(l for l in demo.stdout.splitlines() if not l.startswith(left_out))]
lines = [line if len(line) <= WIDTH else line[:WIDTH] + "…" for line in lines]
lines = [line for before, line in zip(["x", *lines], lines) if before or line]


def of_picture(text):
    return [html.unescape(re.sub("<[^>]*>", "", line)).replace("\u00a0", " ") for line in re.findall("<text.*?</text>", text)]


def steady(lines):
    # A truncated line ends elsewhere if a number in it changes its length.
    return [CHANGING.sub("#", line)[:90] for line in lines if line]


if "--check" in sys.argv:
    then, now = steady(of_picture(PICTURE.read_text())), steady(lines)
    for there, today in zip(then + [""] * len(now), now + [""] * (len(then) - len(now))):
        if there != today:
            sys.exit(f"{PICTURE.name} is stale: run scripts/recording.py\n  then: {there}\n  now:  {today}")
    sys.exit(0)

height = len(lines) * 19 + 40
rows = []
for at, line in enumerate(lines):
    text = html.escape(line, quote=False).replace(" ", "\u00a0")
    text = text.replace("✔", '<tspan fill="#3fb950">✔</tspan>', 1).replace("✘", '<tspan fill="#f85149">✘</tspan>', 1)
    if line:
        rows.append(f'<text x="22" y="{at * 19 + 36}" style="animation-delay:{at / len(lines) * SECONDS:.1f}s">{text}</text>')
PICTURE.write_text(
    f'<svg xmlns="http://www.w3.org/2000/svg" width="960" height="{height}" viewBox="0 0 960 {height}" role="img" '
    'aria-label="journeyman demo in a terminal">\n'
    # Viewers who prefer reduced motion see everything at once.
    "<style>@media (prefers-reduced-motion: no-preference) { text { animation: appear 0.2s both } "
    "@keyframes appear { from { opacity: 0 } } }</style>\n"
    '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n'
    '<g font-family="ui-monospace,SFMono-Regular,Menlo,DejaVu Sans Mono,monospace" font-size="13.5" fill="#c9d1d9">\n'
    + "\n".join(rows) + "\n</g></svg>\n"
)
