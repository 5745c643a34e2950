#!/usr/bin/env bash
# What the Action in action.yml runs:
#
#   scripts/verify-action.sh sandbox    installs what is missing, and lets bubblewrap make namespaces
#   scripts/verify-action.sh verify     verifies VERIFY_HEAD against VERIFY_BASE, and writes the job's summary
set -euo pipefail

sandbox() {
    local missing=()
    command -v bwrap >/dev/null || missing+=(bubblewrap)
    command -v jq >/dev/null || missing+=(jq)
    if [ "${#missing[@]}" -gt 0 ]; then
        sudo apt-get -q update
        sudo apt-get -qy install "${missing[@]}"
    fi
    # Ubuntu restricts user namespaces to programs with a profile.
    if ! bwrap --unshare-all --ro-bind / / true 2>/dev/null && command -v apparmor_parser >/dev/null; then
        sudo install -m 644 "$(dirname "$0")/../deploy/apparmor-bwrap" /etc/apparmor.d/journeyman-bwrap
        sudo apparmor_parser -r /etc/apparmor.d/journeyman-bwrap
    fi
}

# The verdict and the five lines. A change writes parts of them, so they are HTML without Markdown between its tags.
summary() {
    jq -r '
        def said: gsub("[[:space:][:cntrl:]]+"; " ") | .[0:4000] | @html;
        {
            what_ran: "What ran", red_then_green: "Red before, green now", existing_tests: "Existing tests",
            strength: "Strength of the tests", not_verified: "What was not verified"
        } as $labels
        | "<h3>\(.verdict // .outcome | said)</h3>",
          "<p>\(.because // "" | said)</p>",
          "<dl>",
          (.findings[:5][] | "<dt>\($labels[.line])</dt><dd>\(.sentence | said)</dd>"),
          "</dl>"' "$1"
}

verify() {
    local arguments=(verify --json "--head=$VERIFY_HEAD" "--receipt=$VERIFY_RECEIPT")
    local result code=0 resume
    if [ -n "$VERIFY_BASE" ]; then
        # A checkout has the other branches only as those of its origin.
        if git rev-parse --verify --quiet "refs/remotes/origin/$VERIFY_BASE^{commit}" >/dev/null; then
            VERIFY_BASE=origin/$VERIFY_BASE
        fi
        arguments+=("--base=$VERIFY_BASE")
    fi
    if [ -n "$VERIFY_ISSUE" ]; then
        arguments+=("--issue=$VERIFY_ISSUE")
    fi
    mkdir -p "$(dirname "$VERIFY_RECEIPT")"
    rm -f "$VERIFY_RECEIPT" "$VERIFY_RECEIPT.pem"
    result=$(mktemp)
    # No line of a test's output is a command for the runner.
    resume=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
    echo "::stop-commands::$resume"
    journeyman "${arguments[@]}" >"$result" || code=$?
    echo "::$resume::"
    if [ -s "$result" ]; then
        { echo && summary "$result"; } >>"$GITHUB_STEP_SUMMARY"
    fi
    rm -f "$result"
    return "$code"
}

case ${1:-} in
    sandbox | verify) "$1" ;;
    *)
        echo "verify-action: say sandbox or verify" >&2
        exit 2
        ;;
esac
