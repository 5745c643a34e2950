#!/bin/sh
# Judges one reference of a push: $1 its name, $2 what it was, $3 what it is to be.
absent() { case "$1" in *[!0]*) return 1 ;; *) return 0 ;; esac; }
violated() {
  case "$1" in
    creation) absent "$2" ;;
    update) ! absent "$2" && ! absent "$3" ;;
    deletion) absent "$3" ;;
    non_fast_forward) ! absent "$2" && ! absent "$3" && ! git merge-base --is-ancestor "$2" "$3" ;;
    required_signatures) ! absent "$3" && ! git cat-file commit "$3" | grep -q '^gpgsig ' ;;
    pull_request | required_status_checks) ! absent "$3" ;;
    commit_message_pattern)
      for commit in $(absent "$3" || git rev-list "$3" --not --branches); do
        git log -1 --format=%B "$commit" | grep -Eq -- "$4" || return 0
      done
      return 1
      ;;
    *) return 1 ;;
  esac
}
branch=${1#refs/heads/}
while read -r kind expression pattern; do
  [ -n "$kind" ] || continue
  if printf '%s\n' "$branch" | grep -Eq -- "$expression" && violated "$kind" "$2" "$3" "$pattern"; then
    echo "error: GH013: Repository rule violations found for $1." >&2
    echo "- $kind" >&2
    exit 1
  fi
done <<RULES
$EMULATOR_RULES
RULES
[ "$EMULATOR_WORKFLOWS" = refused ] || exit 0
absent "$3" && exit 0
base=$(git merge-base HEAD "$3") || base=$(git hash-object -t tree /dev/null)
file=$(git diff --name-only "$base" "$3" -- .github/workflows | head -n 1)
[ -z "$file" ] && exit 0
echo "refusing to allow a GitHub App to create or update workflow \`$file\` without \`workflows\` permission" >&2
exit 1
