#!/usr/bin/env bash
# Tests a Debian package in a Debian root: it installs and configures the package, checks the program and its manual,
# and verifies that a purge leaves nothing of it behind.
#
#   scripts/try-deb.sh PACKAGE.deb [ROOT]     ROOT: a folder with a minimal Debian; without one, debootstrap makes it
#
# With ROOT it needs no network: dpkg ignores the package's dependencies. They are looked up in apt's lists if there are
# any, and lintian runs if it is installed.
set -euo pipefail
package=$(realpath "$1")
place=$(mktemp -d)
root=$place/root
trap 'rm -rf --one-file-system "$place"' EXIT
fail() { echo "try-deb: $*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }
if [ "$(id -u)" != 0 ]; then exec unshare --map-root-user --map-auto "$0" "$@"; fi

if [ -n "${2:-}" ]; then
    mkdir "$root"
    # Only root can create devices, and nothing here needs them.
    tar -C "$2" --one-file-system --exclude=./dev --exclude=./proc --exclude=./sys --exclude=./tmp --exclude=./var/cache -cf - . | tar -C "$root" -xpf -
    mkdir -p "$root"/{dev,proc,sys,tmp,var/cache}
    touch "$root/dev/null" && chmod 666 "$root/dev/null"
else
    has debootstrap || fail "debootstrap is not installed: install it, or name a folder with a minimal Debian"
    debootstrap --variant=minbase --include=ca-certificates,libssl3t64,passwd trixie "$root" >"$place/log" 2>&1 || { tail -5 "$place/log" >&2; exit 1; }
fi
# Minimal images drop documentation, but the manual is tested here.
rm -f "$root"/etc/dpkg/dpkg.cfg.d/*
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"; }

dpkg-deb --info "$package" >"$place/info"
dpkg-deb --contents "$package" >"$place/contents"
grep -q '^ Package: journeyman$' "$place/info" || fail "the package is no journeyman"
for file in usr/bin/journeyman usr/lib/systemd/system/journeyman.service usr/share/man/man1/journeyman.1.gz \
    usr/share/bash-completion/completions/journeyman usr/share/doc/journeyman/copyright usr/share/journeyman/apparmor-bwrap; do
    grep -q " \./$file\$" "$place/contents" || fail "$file is not in the package"
done
if awk '{ print $2 }' "$place/contents" | grep -qvx root/root; then fail "not everything in the package is root's"; fi
if awk '$1 ~ /^.....w|^........w/' "$place/contents" | grep -q .; then fail "others may write what the package brings"; fi
if has apt-cache; then
    depends=$(sed -n 's/^ Depends: //p' "$place/info" | tr ',' '\n' | sed 's/(.*//; s/ //g')
    for name in $depends; do
        if [ -n "$(apt-cache policy libc6 2>/dev/null)" ] && [ -z "$(apt-cache show "$name" 2>/dev/null | head -1)" ]; then
            fail "apt knows no package $name, which this one depends on"
        fi
    done
fi
if has lintian; then lintian --fail-on error "$package"; else echo "try-deb: SKIPPED: lintian is not installed"; fi

cp "$package" "$root/tmp/journeyman.deb"
find "$root" -xdev ! -type d -printf '/%P\n' | sort >"$place/before"
inside dpkg --install --force-depends /tmp/journeyman.deb >"$place/log" 2>&1 || { cat "$place/log" >&2; fail "it cannot be installed"; }
[ "$(inside dpkg-query -W -f='${Status}' journeyman)" = 'install ok installed' ] || fail "it is not installed"
inside getent passwd journeyman | grep -q ':/var/lib/journeyman:/usr/sbin/nologin$' || fail "the user journeyman is not there"
[ "$(stat -c %a%U "$root/etc/journeyman")" = 750root ] || fail "/etc/journeyman is not closed to others"

version=$(dpkg-deb --field "$package" Version)
said=$(inside journeyman --version) || fail "the program does not start there"
case "$said" in "journeyman ${version/\~/-}"*) ;; *) fail "the program says $said, and the package $version" ;; esac
# This machine's `man` reads it the same way.
if has man; then
    MANPATH="$root/usr/share/man" MANPAGER=cat man journeyman 2>/dev/null | grep -qi 'journeyman.serve' || fail "man journeyman shows nothing"
else
    echo "try-deb: SKIPPED: man is not installed"
fi
if has systemd-analyze; then
    # The root has no systemd, so this machine's checks the unit, with the unpacked program's path.
    sed "s#/usr/bin/journeyman#$root&#" "$root/usr/lib/systemd/system/journeyman.service" >"$place/journeyman.service"
    wrong=$(systemd-analyze verify "$place/journeyman.service" 2>&1 | grep 'journeyman.service:' || true)
    [ -z "$wrong" ] || fail "$wrong"
fi
# Without settings, it names the missing file.
code=0
inside journeyman serve --config /etc/journeyman/journeyman.toml >"$place/log" 2>&1 || code=$?
[ "$code" = 2 ] && grep -q 'journeyman.toml' "$place/log" || { cat "$place/log" >&2; fail "without settings it ends with $code"; }

inside dpkg --purge journeyman >"$place/log" 2>&1 || { cat "$place/log" >&2; fail "it cannot be removed"; }
find "$root" -xdev ! -type d -printf '/%P\n' | sort >"$place/after"
# The user's records remain, which is Debian's convention.
left=$(comm -13 "$place/before" "$place/after" | grep -v '^/etc/\(passwd\|group\|shadow\|gshadow\|subuid\|subgid\|.pwd.lock\)\|^/var/\(lib/dpkg\|log\)/' || true)
[ -z "$left" ] || fail "it leaves behind: $left"
echo "try-deb: $(basename "$package") installs, answers and is removed"
