#!/usr/bin/env bash
# Prints the commands of a section of docs/INSTALL.md, so that continuous integration runs exactly what people run.
#
#   scripts/documented.sh 'With compose' | bash -eux
set -euo pipefail
commands=$(awk -v section="$1" '
    /^#/ { sub(/^#+ /, ""); is_there = $0 == section }
    is_there && /^    / { print substr($0, 5) }' "$(dirname "$0")/../docs/INSTALL.md")
if [ -z "$commands" ]; then
    echo "documented: docs/INSTALL.md has no commands under $1" >&2
    exit 1
fi
printf '%s\n' "$commands"
