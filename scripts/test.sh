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
echo
echo "tests: $(sum passed) passed, $(sum failed) failed, $(sum ignored) ignored, in $((SECONDS - started)) s"
if [ -n "${JOURNEYMAN_SKIP:-}" ]; then echo "tests: skipped by name (JOURNEYMAN_SKIP): $JOURNEYMAN_SKIP"; fi
if [ "$status" = 0 ]; then echo "tests: all green"; else echo "tests: FAILED; the output is in $log"; fi
exit "$status"
