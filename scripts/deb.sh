#!/usr/bin/env bash
# Builds a Debian package of a built program, with systemd unit, AppArmor profile, man pages, completions and example settings.
#
#   scripts/deb.sh target/release/journeyman amd64 dist      prints the package's path
set -euo pipefail
program=$(realpath "$1")
machine=$2
mkdir -p "$3"
out=$(realpath "$3")
cd "$(dirname "$0")/.."
# 1.0.0-rc.1 becomes 1.0.0~rc.1: Debian sorts `~` before the release, and `-` after it.
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml | sed 's/-/~/')
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"

put() { install -D -m "$1" "$2" "$tree/$3"; }
put 755 "$program" usr/bin/journeyman
sed 's#/usr/local/bin/#/usr/bin/#; /^# \/etc\/systemd/d' deploy/journeyman.service >"$tree/unit"
put 644 "$tree/unit" usr/lib/systemd/system/journeyman.service
rm "$tree/unit"
put 644 deploy/apparmor-bwrap usr/share/journeyman/apparmor-bwrap
put 644 journeyman.example.toml usr/share/doc/journeyman/journeyman.example.toml
cat LICENSE-MIT LICENSE-APACHE >"$tree/copyright"
put 644 "$tree/copyright" usr/share/doc/journeyman/copyright
rm "$tree/copyright"

"$program" man "$tree/usr/share/man/man1"
gzip -9n "$tree"/usr/share/man/man1/*
complete() {
    mkdir -p "$(dirname "$tree/$2")"
    "$program" completions "$1" >"$tree/$2"
}
complete bash usr/share/bash-completion/completions/journeyman
complete zsh usr/share/zsh/vendor-completions/_journeyman
complete fish usr/share/fish/vendor_completions.d/journeyman.fish
chmod -R u=rwX,go=rX "$tree/usr"

mkdir "$tree/DEBIAN"
cat >"$tree/DEBIAN/control" <<CONTROL
Package: journeyman
Version: $version
Architecture: $machine
Maintainer: The Journeyman project <$(sed -n 's/^repository = "\(.*\)"$/\1/p' Cargo.toml)>
Installed-Size: $(du -sk "$tree/usr" | cut -f1)
Depends: bubblewrap (>= 0.8), ca-certificates, git (>= 1:2.29), passwd
Recommends: openssh-client, python3, skopeo, umoci (>= 0.4.7)
Section: devel
Priority: optional
Description: labeled GitHub issues become verified pull requests
 A self-hosted GitHub App. A coding agent works on a labeled issue; Journeyman
 runs the tests itself and opens a pull request of exactly the tested commit.
CONTROL
# Creates the user and its settings folder. It does not start the service, which has no settings yet.
cat >"$tree/DEBIAN/postinst" <<'POSTINST'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
    if ! getent passwd journeyman >/dev/null; then
        useradd --system --user-group --home-dir /var/lib/journeyman --shell /usr/sbin/nologin journeyman
    fi
    install -d -m 750 -o root -g journeyman /etc/journeyman
    # Only where user namespaces need a profile. Two profiles for one program would contradict each other.
    if [ -e /proc/sys/kernel/apparmor_restrict_unprivileged_userns ] \
        && ! grep -rqsE '^profile[^#]*/usr/bin/bwrap' /etc/apparmor.d; then
        install -D -m 644 /usr/share/journeyman/apparmor-bwrap /etc/apparmor.d/journeyman-bwrap
        apparmor_parser -r /etc/apparmor.d/journeyman-bwrap || true
    fi
    if [ -d /run/systemd/system ]; then
        systemctl daemon-reload
        systemctl try-restart journeyman.service
    fi
fi
POSTINST
cat >"$tree/DEBIAN/prerm" <<'PRERM'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then systemctl disable --now journeyman.service; fi
if [ "$1" = remove ] && [ -e /etc/apparmor.d/journeyman-bwrap ]; then
    apparmor_parser -R /etc/apparmor.d/journeyman-bwrap || true
    rm -f /etc/apparmor.d/journeyman-bwrap
fi
PRERM
chmod 755 "$tree/DEBIAN/postinst" "$tree/DEBIAN/prerm"
package=$out/journeyman_${version}_$machine.deb
dpkg-deb --root-owner-group --build "$tree" "$package" >&2
echo "$package"
