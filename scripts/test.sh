#!/usr/bin/env bash
# Runs every test and says in plain words how it ended.
set -uo pipefail

mkdir -p .cache
log=.cache/test.log
started=$SECONDS
# Stories wait for processes as much as they compute.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(nproc) + 1))}
cargo test --locked --no-fail-fast "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

sum() { # name of a count in cargo's summaries
    sed -n "s/^test result: .* \([0-9][0-9]*\) $1.*/\1/p" "$log" | awk '{ total += $1 } END { print total + 0 }'
}
# What is hostile: corpora that tell how many of theirs got through, and tests that are one case each.
hostile() { # what they are, and how the names of the tests begin
    local tried failed
    tried=$(grep -cE "^test ($2).* \.\.\. (ok|FAILED)$" "$log")
    failed=$(grep -cE "^test ($2).* \.\.\. FAILED$" "$log")
    if [ "$tried" -gt 0 ]; then printf '%8d %12d  %s\n' "$tried" "$failed" "$1"; fi
}
corpora=$({
    sed -n 's/^corpus: \(.*\): \([0-9]*\) tried, \([0-9]*\) got through$/\2 \3 \1/p' "$log" | sort -k3 |
        while read -r tried through what; do printf '%8d %12d  %s\n' "$tried" "$through" "$what"; done
    hostile 'agents that attack and lie, issues that inject' 'stories::hostile'
    hostile "repositories that reach for the host's git" 'workspace::hostile::'
    hostile 'whatever a job does, nothing of it stays' 'sandbox::tests::(leftovers|limits|output)'
    hostile 'bytes that were made up, for every parser' 'fuzz::'
})
if [ -n "$corpora" ]; then printf '\n%8s %12s\n%s\n' 'tried' 'got through' "$corpora"; fi
echo
echo "tests: $(sum passed) passed, $(sum failed) failed, $(sum ignored) ignored, in $((SECONDS - started)) s"
if [ -n "${JOURNEYMAN_SKIP:-}" ]; then echo "tests: skipped by name (JOURNEYMAN_SKIP): $JOURNEYMAN_SKIP"; fi
if [ "$status" = 0 ]; then echo "tests: all green"; else echo "tests: FAILED; the output is in $log"; fi
exit "$status"
