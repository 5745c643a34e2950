#!/bin/sh
# Installs the program `journeyman` of a release, after checking that it is the one that was published.
#
#   curl --proto '=https' --tlsv1.2 -fsSL https://github.com/OWNER/journeyman/releases/latest/download/install.sh | sh
#
# JOURNEYMAN_VERSION=v1.2.3   another release than the newest
# JOURNEYMAN_BIN=FOLDER       another folder than ~/.local/bin
# JOURNEYMAN_RELEASES=URL     another place than GitHub's releases: a mirror, https://…
set -eu

repository=OWNER/journeyman
releases=${JOURNEYMAN_RELEASES:-https://github.com/$repository/releases}
version=${JOURNEYMAN_VERSION:-latest}
bin=${JOURNEYMAN_BIN:-${HOME:?}/.local/bin}

fail() {
    echo "install: $*" >&2
    exit 1
}

# All of it is a function: a script that was cut off on its way does nothing.
main() {
    [ "$(uname -s)" = Linux ] || fail "Journeyman runs on Linux only"
    case $(uname -m) in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) fail "there is no release for $(uname -m); \`make build\` builds one" ;;
    esac
    for program in curl tar sha256sum; do
        command -v "$program" >/dev/null || fail "$program is missing; install it, then run this again"
    done
    case $version in
        latest) from=$releases/latest/download ;;
        *) from=$releases/download/$version ;;
    esac
    archive=journeyman-$machine-linux.tar.gz

    place=$(mktemp -d)
    trap 'rm -rf "$place"' EXIT
    for file in "$archive" SHA256SUMS; do
        # Also where it is sent on to: nothing comes in the clear.
        curl --proto '=https' --tlsv1.2 --fail --silent --show-error --location --output "$place/$file" "$from/$file" ||
            fail "$from/$file could not be fetched"
    done
    # Only the archive's own line counts, and there has to be one.
    grep -E "^[0-9a-f]{64} [ *]$archive\$" "$place/SHA256SUMS" >"$place/sum" ||
        fail "SHA256SUMS of the release does not name $archive; nothing was installed"
    (cd "$place" && sha256sum --check --status sum) ||
        fail "$archive is not what SHA256SUMS of the release says; nothing was installed"
    echo "install: the checksum of $archive is right"
    if command -v gh >/dev/null && gh auth status >/dev/null 2>&1; then
        gh attestation verify "$place/$archive" --repo "$repository" >/dev/null ||
            fail "GitHub has no attestation that $repository built this $archive; nothing was installed"
        echo "install: $repository built it, as its attestation says"
    else
        echo "install: its attestation was not checked: that needs gh, signed in"
    fi

    tar -xzf "$place/$archive" -C "$place" journeyman
    mkdir -p "$bin"
    # Renamed into its place: a server that runs keeps the program that it was started from.
    cp "$place/journeyman" "$bin/.journeyman.new"
    chmod 755 "$bin/.journeyman.new"
    mv "$bin/.journeyman.new" "$bin/journeyman"
    echo "install: $("$bin/journeyman" --version) is at $bin/journeyman"

    for program in git bwrap; do
        command -v "$program" >/dev/null || echo "install: $program is missing; Journeyman needs git 2.29 and bwrap 0.8 or newer (bwrap is in the package bubblewrap)"
    done
    for program in skopeo umoci; do
        command -v "$program" >/dev/null || echo "install: $program is missing; only repositories with \`image\` or \`services\` need it"
    done
    case :$PATH: in
        *:"$bin":*) ;;
        *) echo "install: $bin is not on your PATH" ;;
    esac
    echo "install: next, \`journeyman setup\` creates the GitHub App and starts the server; \`journeyman demo --once\` shows it work first"
}

main
