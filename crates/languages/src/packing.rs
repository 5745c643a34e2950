//! What users get of a repository: the files that its package holds, at their places in the repository.
//!
//! May know: the languages. Must never know: who packs, and what is done with a package.

use crate::language::PackedFiles;
use crate::table::LANGUAGES;

/// The archive of a release, where there is no other package. What git ignores was made here, and is not in it.
const ARCHIVE: PackedFiles = PackedFiles {
    by: "git",
    manifest: ".*",
    list: r#"export GIT_DIR="$PACKED.git" GIT_WORK_TREE="$PWD"
git init -q && git add -A && git archive "$(git write-tree)" | tar -x -C "$PACKED"
rm -rf "$GIT_DIR""#,
    installed: "",
    below: "",
};

/// Shell commands that run in a repository's root and copy what its package holds into the empty folder `$PACKED`, which is then another one.
/// `$packed` is then the package manager's name, and empty if there is no package.
pub fn packing() -> String {
    let of_languages = LANGUAGES.iter().filter_map(|language| language.facts().packed.as_ref());
    let each = of_languages.chain([&ARCHIVE]).map(|PackedFiles { by, manifest, list, installed, below }| {
        format!("{{ ls -A | grep -qxE '{manifest}' && {{ {list}\n}} | hold {installed} && packed={by} below={below}; }}")
    });
    let each: Vec<String> = each.collect();
    format!(
        r#"hold() {{
  while IFS= read -r file; do [ ! -f "$file" ] || printf './%s\n' "$file"; done | tar -c -T - | tar -x -C "$PACKED"
  [ "$(ls -A "$PACKED")" ] && for folder; do ln -s "$PWD/$folder" "$PACKED"; done
}}
packed= below=
{{
{}
}} </dev/null >/dev/null 2>&1
[ ! "$below" ] || {{
  mkdir -p "$PACKED.in/$below" && mv "$PACKED" "$PACKED.in/$below" && PACKED="$PACKED.in/$below/${{PACKED##*/}}"
}}
"#,
        each.join(" ||\n")
    )
}

#[cfg(test)]
mod tests {
    use super::packing;

    #[test]
    fn a_languages_own_package_takes_precedence_and_quotes_nothing_that_the_shell_would_end() {
        let text = packing();
        let place = |by: &str| text.find(&format!("packed={by} ")).unwrap();
        let order = ["Cargo", "Python", "RubyGems", "npm", "git"].map(place);
        assert!(order.is_sorted(), "{text}");
        assert_eq!(text.matches('\'').count() % 2, 0, "{text}");
    }
}
