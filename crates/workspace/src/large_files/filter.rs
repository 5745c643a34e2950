//! What git-lfs does to a file on its way into git and out of it, for the agent's repository: in shell, since git-lfs is not
//! on every machine, and reaches for the network.
//!
//! Both run in the agent's sandbox, as git there does: nothing that they say is believed.

/// A content becomes a pointer, and is kept beside the repository's objects, as git-lfs keeps it. What is a pointer already
/// stays one, and so does what lies in git as it is and was not changed: somebody committed it without git-lfs. `$1` is
/// where contents are that were fetched, `$2` the path.
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

/// A pointer becomes the content, where that is here; all else stays what it is.
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
