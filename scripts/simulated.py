#!/usr/bin/env python3
"""The simulated suite, as the nightly workflow runs it: scripts/simulated.py PROGRAM CASES FOLDER.

Writes table.txt, report.json and report.html into FOLDER. Fails unless every case was run, the share of verified cases is
what the rates of the simulated agent come to, and nothing was verified that the hidden tests refuse.
"""

import json
import pathlib
import subprocess
import sys

# The rates of the published account; see docs/EVAL.md.
RATES = "35,72,45"


def faults(report):
    """What is wrong with a report, in words."""
    if report["troubles"]:
        yield f"{len(report['troubles'])} cases could not be run, the first: {report['troubles'][0]}"
    if len(report["cases"]) != report["setting"]["cases"]:
        yield f"{len(report['cases'])} of {report['setting']['cases']} cases were run"
    if report["false_green"]["count"]:
        yield f"{report['false_green']['count']} cases are verified and fail the hidden tests"
    if not report["expectation"]["within"]:
        verified, expected = report["verified"]["rate"], report["expectation"]["rate"]
        yield f"verified is {verified:.3f}, and the rates come to {expected:.3f}"


def main(program, cases, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    table, report = folder / "table.txt", folder / "report.json"
    command = [program, "eval", "--simulate", RATES, "--cases", cases]
    with table.open("w") as out:
        subprocess.run(
            [*command, "--json", str(report), "--html", str(folder / "report.html")], stdout=out, check=True
        )
    print(table.read_text())
    found = list(faults(json.loads(report.read_text())))
    for fault in found:
        print(f"WRONG: {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
