#!/usr/bin/env bash
# Tests the server's image as deploy/compose.yaml runs it: a repository's tests run in a sandbox inside it, the server
# starts, its health check succeeds, and it stops when asked.
#
#   ENGINE="podman --runtime runc" scripts/try-image.sh IMAGE
set -euo pipefail
cd "$(dirname "$0")/.."
read -r -a engine <<<"${ENGINE:-docker}"
image=$1
place=$(mktemp -d)
name=journeyman-trial-$$
trap '"${engine[@]}" rm --force "$name" >/dev/null 2>&1 || true; rm -rf "$place"' EXIT

proc=systempaths=unconfined
if [ "${engine[0]}" = podman ]; then proc=unmask=ALL; fi
as_composed=(--network none --cap-drop ALL --security-opt no-new-privileges --security-opt seccomp=deploy/seccomp.json
    --security-opt apparmor=unconfined --security-opt "$proc" --pids-limit 512)
# Without AppArmor on the host, podman rejects the option.
if [ "${engine[0]}" = podman ] && [ ! -d /sys/kernel/security/apparmor ]; then
    as_composed=("${as_composed[@]/apparmor=unconfined/no-new-privileges}")
fi

"${engine[@]}" run --rm "${as_composed[@]}" --volume "$PWD/scripts/try-sandbox.sh:/trial.sh:ro" --entrypoint tini "$image" -- sh /trial.sh

openssl genrsa -traditional -out "$place/app.pem" 2048 2>/dev/null
secret=$(openssl rand -hex 32)
printf '[github]\napp_id = 1\nprivate_key_path = "/etc/journeyman/app.pem"\nwebhook_secret = "%s"\n' "$secret" >"$place/journeyman.toml"
as_root=()
if [ "$(id -u)" != 0 ]; then as_root=(sudo); fi
"${as_root[@]}" chown 10001 "$place/app.pem"
"${as_root[@]}" chmod 400 "$place/app.pem"
"${engine[@]}" run --detach --name "$name" "${as_composed[@]}" --volume "$place/app.pem:/etc/journeyman/app.pem:ro" \
    --volume "$place/journeyman.toml:/etc/journeyman/journeyman.toml:ro" "$image" >/dev/null
# Run the image's HEALTHCHECK command directly instead of waiting for its timer.
check="import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['JOURNEYMAN_SERVER__LISTEN'].rsplit(':', 1)[1] + '/health', timeout=4)"
for attempt in $(seq 60); do
    if "${engine[@]}" exec "$name" python3 -c "$check" 2>/dev/null; then break; fi
    if [ "$attempt" = 60 ]; then "${engine[@]}" logs "$name" >&2; exit 1; fi
    sleep 0.5
done
"${engine[@]}" stop --time 20 "$name" >/dev/null
code=$("${engine[@]}" inspect --format '{{.State.ExitCode}}' "$name")
if [ "$code" != 0 ]; then echo "try-image: the server ended with exit code $code" >&2; exit 1; fi
echo "try-image: $image runs tests in a sandbox, starts, answers and ends"
