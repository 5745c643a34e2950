//! A case's folder made a git repository: one commit, the same every time.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context as _;
use git2::{Oid, Repository, RepositoryInitOptions, Signature, Time};

/// Writes the folder's files into a new bare repository, modes and links included.
pub(super) fn make(from: &Path, at: &Path) -> anyhow::Result<()> {
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false).initial_head("main");
    let repository = Repository::init_opts(at, &options)?;
    let tree = tree(&repository, from)?;
    let by = Signature::new("you", "you@invalid", &Time::new(1_700_000_000, 0))?;
    let tree = repository.find_tree(tree)?;
    anyhow::ensure!(!tree.is_empty(), "{} is empty: a case starts from at least one file", from.display());
    repository.commit(Some("refs/heads/main"), &by, &by, "The state before", &tree, &[])?;
    Ok(())
}

fn tree(repository: &Repository, folder: &Path) -> anyhow::Result<Oid> {
    let mut builder = repository.treebuilder(None)?;
    let listed = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in listed {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if entry.file_name() == ".git" {
            continue;
        }
        let (id, mode) = if kind.is_dir() {
            let id = tree(repository, &path)?;
            // Git knows no empty folders.
            if repository.find_tree(id)?.is_empty() {
                continue;
            }
            (id, 0o040_000)
        } else if kind.is_symlink() {
            (repository.blob(std::fs::read_link(&path)?.as_os_str().as_bytes())?, 0o120_000)
        } else {
            let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let runs = entry.metadata()?.permissions().mode() & 0o100 != 0;
            (repository.blob(&bytes)?, if runs { 0o100_755 } else { 0o100_644 })
        };
        builder.insert(entry.file_name(), id, mode)?;
    }
    Ok(builder.write()?)
}
