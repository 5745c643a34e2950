//! A change of the corpus as commits.

use std::path::Path;

/// Both sides of a change.
#[derive(Debug, Clone, Copy)]
pub struct Commits {
    pub before: git2::Oid,
    pub after: git2::Oid,
}

/// Commits the folder `before`, then `after` on top. The same folders always give the same commits.
pub fn commits(repository: &git2::Repository, folder: &Path) -> Commits {
    let time = git2::Time::new(1_700_000_000, 0);
    let who = git2::Signature::new("Ada", "ada@example.org", &time).expect("a name");
    let commit = |side: &str, parent: Option<git2::Oid>| {
        let tree = tree(repository, &folder.join(side));
        let parent = parent.map(|parent| repository.find_commit(parent).expect("the parent"));
        let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
        let found = repository.find_tree(tree).expect("the tree");
        repository.commit(None, &who, &who, side, &found, &parents).expect("a commit")
    };
    let before = commit("before", None);
    Commits { before, after: commit("after", Some(before)) }
}

fn tree(repository: &git2::Repository, folder: &Path) -> git2::Oid {
    let mut builder = repository.treebuilder(None).expect("a tree");
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_owned();
        let found = std::fs::symlink_metadata(&path).expect("a file");
        let is_program = std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o111 != 0;
        let (id, mode) = if found.is_dir() {
            (tree(repository, &path), 0o40_000)
        } else {
            let bytes = std::fs::read(&path).expect("its bytes");
            (repository.blob(&bytes).expect("a blob"), if is_program { 0o100_755 } else { 0o100_644 })
        };
        builder.insert(name, id, mode).expect("an entry");
    }
    builder.write().expect("the tree")
}
