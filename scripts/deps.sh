#!/usr/bin/env bash
# Installs missing system packages. If nothing is missing, it does nothing and needs no network.
#
#   deps.sh         for building and running
#   deps.sh test    also for downloading the tests' tools
set -euo pipefail

has() { command -v "$1" >/dev/null 2>&1; }

# A list of a sample's facts, in words.
words_of() { # list, file
    sed -n "s/^$1 = \[\(.*\)\]\$/\1/p" "$2" | tr -d '",'
}

# The packages of languages whose samples lack something here.
of_samples() {
    local facts need package
    for facts in crates/languages/samples/*/sample.toml; do
        for need in $(words_of needs "$facts"); do
            if has "$need" || compgen -G "$need" >/dev/null; then continue; fi
            for package in $(words_of packages "$facts"); do
                case " ${missing[*]} " in *" $package "*) ;; *) missing+=("$package") ;; esac
            done
            break
        done
    done
}

# Missing packages, by their names in package_name below.
missing=()
has git || missing+=(git)
has make || missing+=(make)
has cc || missing+=(compiler)
has pkg-config || missing+=(pkg-config)
has bwrap || missing+=(bubblewrap)
# The demo's sample repository and the stories test a small Python program.
has python3 || missing+=(python)
if [ "${1:-}" = test ]; then
    # Some stories use these languages too.
    has go || missing+=(go)
    has node || missing+=(nodejs)
    wants_npm=
    [ -f .cache/github/versions ] || wants_npm=yes
    case " ${JOURNEYMAN_SKIP:-} " in
        *[\ ,]claude[\ ,]*) ;;
        *) [ -x .cache/claude/claude ] || wants_npm=yes ;;
    esac
    if [ -n "$wants_npm" ] && ! has npm; then missing+=(npm); fi
    # For programs at a later date.
    if has apt-get && ! compgen -G '/usr/lib/*/faketime/libfaketime.so.1' >/dev/null; then missing+=(libfaketime); fi
    # For pulling and unpacking images.
    has skopeo || missing+=(skopeo)
    has umoci || missing+=(umoci)
    # With apt, fetch.sh downloads it without installing it.
    if ! has apt-get && ! has docker-registry && ! has registry; then missing+=(registry); fi
    if ! has apt-get && ! has redis-server; then missing+=(redis); fi
    if ! has apt-get && ! has postgres; then missing+=(postgresql); fi
    # Without apt, or with JOURNEYMAN_SKIP=languages, the samples whose programs are missing are skipped.
    case " ${JOURNEYMAN_SKIP:-} " in
        *[\ ,]languages[\ ,]*) ;;
        *) if has apt-get; then of_samples; fi ;;
    esac
fi

package_name() { # package manager, name
    case "$1:$2" in
        apt-get:compiler) echo gcc libc6-dev ;;
        apt-get:python) echo python3 ;;
        apt-get:go) echo golang-go ;;
        dnf:go) echo golang ;;
        apk:registry | pacman:registry) echo docker-registry ;;
        dnf:registry) echo docker-distribution ;;
        zypper:registry) echo distribution-registry ;;
        dnf:postgresql) echo postgresql-server ;;
        zypper:postgresql) echo postgresql-server ;;
        dnf:compiler) echo gcc ;;
        dnf:python) echo python3 ;;
        dnf:pkg-config) echo pkgconf-pkg-config ;;
        pacman:compiler) echo gcc ;;
        pacman:python) echo python ;;
        pacman:pkg-config) echo pkgconf ;;
        apk:compiler) echo gcc musl-dev ;;
        apk:python) echo python3 ;;
        apk:pkg-config) echo pkgconf ;;
        zypper:compiler) echo gcc ;;
        zypper:python) echo python3 ;;
        *) echo "$2" ;;
    esac
}

install_missing() {
    if [ ${#missing[@]} -eq 0 ]; then return; fi
    manager=
    for candidate in apt-get dnf pacman apk zypper; do
        if has "$candidate"; then manager=$candidate && break; fi
    done
    packages=()
    for name in "${missing[@]}"; do
        read -r -a names <<<"$(package_name "${manager:-none}" "$name")"
        packages+=("${names[@]}")
    done
    case "$manager" in
        apt-get) install=(apt-get install -y --no-install-recommends) ;;
        dnf) install=(dnf install -y) ;;
        pacman) install=(pacman -S --needed --noconfirm) ;;
        apk) install=(apk add) ;;
        zypper) install=(zypper --non-interactive install) ;;
        *)
            echo "deps: missing: ${missing[*]}. No package manager that is known here was found: install them by hand, then run make again." >&2
            exit 1
            ;;
    esac
    as_root=()
    if [ "$(id -u)" != 0 ]; then
        if has sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
            as_root=(sudo)
        else
            echo "deps: missing: ${missing[*]}. Run this as root, then make again:" >&2
            echo "    ${install[*]} ${packages[*]}" >&2
            exit 1
        fi
    fi
    echo "deps: installing ${packages[*]}"
    # Fresh images have no package lists.
    if [ "$manager" = apt-get ]; then "${as_root[@]}" apt-get update -q; fi
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" "${install[@]}" "${packages[@]}"
}

install_missing
if [ "${1:-}" = test ] && [ -z "${CHROMIUM:-}" ] && ! has chromium && ! has chromium-browser && ! has google-chrome &&
    ! has google-chrome-stable; then
    # Installed separately, because not every system packages it.
    case " ${JOURNEYMAN_SKIP:-} " in
        *[\ ,]browser[\ ,]*) ;;
        *)
            missing=(chromium)
            install_missing || {
                echo "deps: install a Chromium by hand, name it with CHROMIUM, or go without: JOURNEYMAN_SKIP=browser" >&2
                exit 1
            }
            ;;
    esac
fi

if ! has cargo; then
    echo "deps: Rust is missing. Install it as https://rustup.rs says, then run make again." >&2
    exit 1
fi

# Being installed is not enough: some systems forbid the namespaces that the sandbox uses.
if ! bwrap --unshare-all --ro-bind / / true 2>/dev/null; then
    echo "deps: bubblewrap is installed but cannot make namespaces here; agents and tests will not start." >&2
    echo "      Ubuntu 24.04 and later: the AppArmor profile deploy/apparmor-bwrap, or sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0" >&2
    echo "      Debian's older kernels:  sudo sysctl kernel.unprivileged_userns_clone=1" >&2
    echo "      In a container:          allow user namespaces, as deploy/compose.yaml does" >&2
fi
