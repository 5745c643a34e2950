//! Replaces the filters of git-lfs in the agent's repository. They are shell scripts, because git-lfs is not installed
//! everywhere and uses the network.
//!
//! Both run in the agent's sandbox, like git there: their output is not trusted.

/// Turns a content into a pointer and stores it beside the repository's objects, like git-lfs. A pointer stays as it
/// is. So does an unchanged file that was committed without git-lfs. `$1` is the folder of fetched contents, `$2` the
/// path.
pub(crate) const CLEAN: &str = r#"set -eu
kept=$(git rev-parse --git-common-dir)/lfs; mkdir -p "$kept/tmp"
new=$(mktemp "$kept/tmp/XXXXXXXX"); trap 'rm -f "$new"' EXIT
cat > "$new"
size=$(($(wc -c < "$new")))
if [ "$size" -eq 0 ]; then exit 0; fi
if [ "$size" -le 1024 ] && [ "$(head -n 1 "$new" | tr -d '\000')" = 'version https://git-lfs.github.com/spec/v1' ]; then
  cat "$new"; exit 0
fi
id=$(sha256sum < "$new"); id=${id%% *}
if [ ! -f "$1/$id" ]; then
  known=$(git rev-parse --quiet --verify ":$2" || true)
  if [ -n "$known" ] && [ "$known" = "$(git hash-object --no-filters "$new")" ]; then cat "$new"; exit 0; fi
  rest=${id#??}; place=$kept/objects/${id%"$rest"}/${rest%"${rest#??}"}
  if [ ! -f "$place/$id" ]; then mkdir -p "$place"; mv "$new" "$place/$id"; fi
fi
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' "$id" "$size""#;

/// Turns a pointer into its content if that is here; anything else stays unchanged.
pub(crate) const SMUDGE: &str = r#"set -eu
kept=$(git rev-parse --git-common-dir)/lfs; mkdir -p "$kept/tmp"
new=$(mktemp "$kept/tmp/XXXXXXXX"); trap 'rm -f "$new"' EXIT
cat > "$new"
if [ "$(wc -c < "$new")" -le 1024 ] && [ "$(head -n 1 "$new" | tr -d '\000')" = 'version https://git-lfs.github.com/spec/v1' ]; then
  id=$(sed -n 's/^oid sha256:\([0-9a-f]\{64\}\)$/\1/p' "$new" | head -n 1)
  rest=${id#??}; place=$kept/objects/${id%"$rest"}/${rest%"${rest#??}"}
  if [ -n "$id" ] && [ -f "$1/$id" ]; then cat "$1/$id"; exit 0; fi
  if [ -n "$id" ] && [ -f "$place/$id" ]; then cat "$place/$id"; exit 0; fi
fi
cat "$new""#;
