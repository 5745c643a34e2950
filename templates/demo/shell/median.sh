# Prints the median of its arguments; nothing without any.
[ $# -gt 0 ] || exit 0
sorted=$(printf '%s\n' "$@" | sort -n)
middle=$(($# / 2))
printf '%s\n' "$sorted" | sed -n "$((middle + 1))p"
