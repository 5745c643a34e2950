#!/bin/sh
# Prints the name of the largest file in a folder: largest.sh FOLDER
largest=
most=-1
for file in $(ls "$1"); do
  [ -f "$1/$file" ] || continue
  size=$(wc -c < "$1/$file")
  if [ "$size" -gt "$most" ]; then
    largest=$file
    most=$size
  fi
done
[ -n "$largest" ] && echo "$largest"
