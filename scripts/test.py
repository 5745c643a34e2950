#!/usr/bin/env python3
"""Runs every test and sums up the results: the hostile cases, how many of them got through, and how many tests
passed. Arguments go to `cargo nextest run`: scripts/test.py -E 'test(kill)'."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

import postgres

# Hostile tests outside the corpora, which report their own numbers. Each test counts as one case.
HOSTILE = {
    "agents that attack and lie, issues that inject": r"^journeyman::stories stories::hostile",
    "repositories that reach for the host's git": r"^journeyman::stories workspace::hostile::",
    "whatever a job does, nothing of it stays": r"^journeyman-sandbox tests::(leftovers|limits|output)",
    "images that want out, registries that lie": r"^journeyman-image tests::hostile::",
    "bytes that were made up, for every parser": r"^journeyman::stories fuzz::",
}
CORPUS = re.compile(r"^corpus: (.*): (\d+) tried, (\d+) got through$", re.MULTILINE)
SKIPPED = re.compile(r"^SKIPPED: (.*)$", re.MULTILINE)
# The PostgreSQL that the store's tests use besides SQLite.
DATABASE = "JOURNEYMAN_TEST_POSTGRES_URL"
# Estimated memory for the tests' files.
SPACE = 3 << 30


def folder_for_tests():
    """A folder in memory if it has room: a story syncs its files 180 times, which takes a second on disk."""
    memory = "/dev/shm"
    is_roomy = os.path.isdir(memory) and shutil.disk_usage(memory).free > SPACE
    return tempfile.TemporaryDirectory(prefix="journeyman-tests-", dir=memory if is_roomy else None)


def main():
    began = time.monotonic()
    profile = "all" if "JOURNEYMAN_TEST_ALL" in os.environ else "default"
    report = f"target/nextest/{profile}/junit.xml"
    if os.path.exists(report):
        os.remove(report)
    # Stories wait about as much as they compute.
    threads = str(3 * (os.cpu_count() or 1))
    tests = ["cargo", "nextest", "run", "--locked", "--workspace", "--lib", "--bins", "--tests"]
    tests += ["--profile", profile, "--test-threads", threads]
    # Put this program's own python3 first: a version manager's wrapper starts a dozen shells each time.
    path = [os.path.dirname(sys.executable), os.environ.get("PATH", ""), os.path.abspath(".cache/nextest/bin")]
    around = {**os.environ, "MALLOC_ARENA_MAX": "2", "PATH": os.pathsep.join(path)}
    # Otherwise each test with a snapshot runs cargo.
    around["INSTA_WORKSPACE_ROOT"] = os.getcwd()
    with folder_for_tests() as folder, contextlib.ExitStack() as started:
        around["TMPDIR"] = folder
        if DATABASE not in around:
            try:
                around[DATABASE] = started.enter_context(postgres.Cluster(f"{folder}/postgres")).url
            except postgres.Missing as missing:
                print(f"tests: FAILED before any of them ran: {missing}")
                return 1
        status = subprocess.run([*tests, *sys.argv[1:]], env=around, check=False).returncode
    if not os.path.exists(report):
        print("tests: FAILED before any of them ran")
        return status or 1

    cases, rows, left_out = [], [], set()
    for suite in xml.parse(report).getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            failed = any(case.find(kind) is not None for kind in ("failure", "error"))
            cases.append((f"{suite.get('name')} {case.get('name')}", failed))
            said = "".join(case.findtext(stream) or "" for stream in ("system-out", "system-err"))
            rows += [(int(tried), int(through), what) for what, tried, through in CORPUS.findall(said)]
            left_out.update(SKIPPED.findall(said))
    rows.sort(key=lambda row: row[2])
    for what, names in HOSTILE.items():
        ended = [failed for name, failed in cases if re.search(names, name)]
        if ended:
            rows.append((len(ended), sum(ended), what))
    if rows:
        print(f"\n{'tried':>8} {'got through':>12}")
        for tried, through, what in rows:
            print(f"{tried:8} {through:12}  {what}")
    failed = [name for name, failed in cases if failed]
    print(f"\ntests: {len(cases) - len(failed)} passed, {len(failed)} failed, in {time.monotonic() - began:.0f} s")
    for name in failed:
        print(f"  failed: {name}")
    if profile == "default":
        print("tests: of the corpora, moments to die at and faults only representatives: JOURNEYMAN_TEST_ALL=1 for all")
    for what in sorted(left_out):
        print(f"tests: skipped: {what}")
    if skipped := os.environ.get("JOURNEYMAN_SKIP"):
        print(f"tests: skipped by name (JOURNEYMAN_SKIP): {skipped}")
    print("tests: all green" if status == 0 else f"tests: FAILED; what each said is in {report}")
    return status


sys.exit(main())
