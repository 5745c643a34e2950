#!/usr/bin/env bash
# Runs every test and says in plain words how it ended.
set -uo pipefail

mkdir -p .cache
log=.cache/test.log
started=$SECONDS
# A process that has told many stories is large, and each sandbox that it starts costs a copy of its tables: so stories
# are told a few to a process. They wait for other processes as much as they compute: one process more than cores.
SIDE_BY_SIDE=${SIDE_BY_SIDE:-$(($(nproc) + 1))}
STORIES_EACH=6
# Far more than any few of them need: what hangs is named instead of waited for.
export LONGEST=${LONGEST:-2400}
export MALLOC_ARENA_MAX=2

tell() { # stories of one process, shown when they have ended
    local said
    said=$(mktemp)
    timeout "$LONGEST" "$STORIES" --exact --test-threads=1 "$@" >"$said" 2>&1
    local status=$?
    (
        flock 9
        cat "$said"
        if [ "$status" = 124 ]; then echo "test ${*: -1} ... FAILED (or one of: $*; not ended after $LONGEST s)"; fi
    ) 9>.cache/test.lock
    rm -f "$said"
    return "$status"
}
export -f tell

run() {
    STORIES=$(cargo test --locked --no-run 2>&1 | tee /dev/stderr |
        sed -n 's/^ *Executable tests.main.rs (\(.*\))$/\1/p') || return
    export STORIES
    cargo test --locked --workspace --no-fail-fast --lib --bins
    local status=$?
    "$STORIES" --list 2>/dev/null | sed -n 's/: test$//p' |
        xargs -P "$SIDE_BY_SIDE" -n "$STORIES_EACH" bash -c 'tell "$@"' tell || status=1
    return "$status"
}

run 2>&1 | tee "$log"
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
