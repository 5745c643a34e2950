#!/usr/bin/env bash
# Regenerates the documentation's pictures: the demo in a terminal (docs/demo.svg, by recording.py), and the pages that
# it leaves behind (docs/issue.png, docs/pull-request.png, docs/review.png: a person reviews and gets an answer). For
# docs/QUICKSTART.md, including the dashboard, run `JOURNEYMAN_UPDATE_DOCS=1 cargo nextest run --test stories
# quickstart::`. Both need a Chromium and a font with emoji; CHROMIUM names another program.
set -euo pipefail
cd "$(dirname "$0")/.."

chromium=${CHROMIUM:-}
for candidate in chromium chromium-browser google-chrome google-chrome-stable; do
    if [ -z "$chromium" ] && command -v "$candidate" >/dev/null 2>&1; then chromium=$candidate; fi
done
if [ -z "$chromium" ]; then
    echo "pictures: no Chromium was found; install one, or name it: CHROMIUM=/path/to/it $0" >&2
    exit 1
fi

if ! fc-list | grep -qi emoji; then
    echo "pictures: no font has ✅; install one, such as fonts-noto-color-emoji" >&2
    exit 1
fi

place=$(mktemp -d)
demo=
cleanup() {
    if [ -n "$demo" ]; then kill "$demo" 2>/dev/null || true; fi
    rm -rf "$place"
}
trap cleanup EXIT

cargo build --locked --quiet --bins
target/debug/journeyman demo >"$place/summary" 2>"$place/work" &
demo=$!
until grep -q 'Look around' "$place/work"; do
    if ! kill -0 "$demo" 2>/dev/null; then
        cat "$place/work" >&2
        exit 1
    fi
    sleep 0.3
done
page=$(sed -n 's/^GitHub, emulated: *//p' "$place/work")

shoot() { # page, width and height, picture
    local wall=()
    if [ "$(id -u)" = 0 ]; then wall=(--no-sandbox); fi
    "$chromium" --headless "${wall[@]}" --disable-gpu --hide-scrollbars --no-first-run --disable-sync \
        --disable-background-networking --disable-component-update --user-data-dir="$place/browser" \
        --window-size="$2" --screenshot="$place/picture.png" "$page/$1" >/dev/null 2>&1
    mv "$place/picture.png" "docs/$3"
}
shoot issues/1 960,800 issue.png
shoot pull/2 960,1000 pull-request.png

# A person's actions on the pages, through the same forms.
curl --silent --show-error --fail --output /dev/null "$page/pull/2/review" \
    --data-urlencode state=request_changes --data-urlencode 'body=Nearly there.' \
    --data-urlencode path=averages.py --data-urlencode line=18 \
    --data-urlencode 'note=Please say in the documentation what comes of an even number of values.'
for _ in $(seq 240); do
    if curl --silent "$page/pull/2" | grep -q 'says now what comes'; then break; fi
    sleep 0.5
done
sleep 3
# The resolved thread is folded; open it for the picture.
curl --silent "$page/pull/2" | sed 's/<details class="thread">/<details class="thread" open>/' >"$place/review.html"
page=file://$place shoot review.html 960,1900 review.png

scripts/recording.py target/debug/journeyman

ls -l docs/demo.svg docs/issue.png docs/pull-request.png
