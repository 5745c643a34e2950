#!/bin/sh
place=$(mktemp -d)
mkdir "$place/empty" "$place/some"
printf 1 > "$place/some/small"
printf 333 > "$place/some/large"
echo 1..2
status=0
if [ "$(sh largest.sh "$place/some")" = large ]; then echo "ok 1 - the largest"; else echo "not ok 1 - the largest"; status=1; fi
if sh largest.sh "$place/empty"; then echo "not ok 2 - fails on an empty folder"; status=1; else echo "ok 2 - fails on an empty folder"; fi
rm -r "$place"
exit $status
