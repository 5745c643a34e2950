place=$(mktemp -d)
trap 'rm -r "$place"' EXIT
printf 1 > "$place/small"
printf 55555 > "$place/my  holiday *.jpg"
printf 999999999 > "$place/.hidden"
mkdir "$place/a folder"
[ "$(sh largest.sh "$place")" = "my  holiday *.jpg" ] || { echo "a name with spaces"; exit 1; }
rm "$place/my  holiday *.jpg" "$place/small"
if sh largest.sh "$place"; then echo "an empty folder"; exit 1; fi
./largest.sh "$place" 2>/dev/null
[ $? = 1 ] || { echo "it cannot be run any more"; exit 1; }
