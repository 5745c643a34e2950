//! The agent's own repository: we create it before any agent runs, then only its sandbox touches it.

use std::ffi::OsString;
use std::path::Path;

use super::large_files::filter;
use super::remote::oid;
use super::worktree_base::{self, StartPoint};
use super::{GitError, OrderDirs, Workspaces, init_bare, remove_all};
use journeyman_order::{BranchName, CommitSha, OrderId, RepositoryName};

/// Default author of the agent's commits. They are never published.
pub(super) const AGENT_NAME: &str = "Journeyman's agent";
pub(super) const AGENT_EMAIL: &str = "agent@journeyman.invalid";

/// Clones the origin once and checks out the branch. An agent may have done anything here: a broken repository is
/// cloned again, the plan folder is kept out of commits, and uncommitted work in the way of a branch is set aside.
/// Exits with [`ORIGIN_DAMAGED`] if the origin is damaged, as after a power cut.
const CLONE: &str = r#"
set -eu
origin=$1 work=$2 branch=$3 index=$4 address=$5 clean=$6 smudge=$7; shift 7
export GIT_TERMINAL_PROMPT=0
cd "$work"
# Nothing else runs here now: a lock is what is left of a run that was killed.
find "$work/.git" "$origin" -type f -name '*.lock' -exec rm -f {} + 2>/dev/null || true
empty() { find "$@" -type f -size 0 2>/dev/null | head -n 1; }
pushed=refs/heads/$branch
git --git-dir="$origin" rev-parse --git-dir >/dev/null 2>&1 || exit 75
[ -z "$(empty "$origin/objects" "$origin/refs")" ] || exit 75
! git --git-dir="$origin" show-ref --quiet --verify "$pushed" ||
  git --git-dir="$origin" rev-parse --quiet --verify "$pushed^{tree}" >/dev/null 2>&1 || exit 75
repo() { git --git-dir="$work/.git" --work-tree="$work" "$@"; }
if [ "$(repo config --get journeyman.cloned 2>/dev/null || true)" != yes ] ||
   ! repo rev-parse --quiet --verify 'HEAD^{tree}' >/dev/null 2>&1 || [ -n "$(empty "$work/.git/objects")" ]; then
  chmod -R u+rwX "$work/.git" "$work/.clone" 2>/dev/null || true
  rm -rf "$work/.git" "$work/.clone"
  # Beside what is there, as git clones into empty folders only. The origin is the agent's as well, so that nothing has to
  # be copied from it.
  git clone --quiet --shared --no-checkout -- "$origin" "$work/.clone"
  mv "$work/.clone/.git" "$work/.git"
  rmdir "$work/.clone"
  # Files of Git LFS hold their content where the agent works, and pointers in git: before anything is compared.
  mkdir -p "$work/.git/lfs"
  large=$(repo rev-parse --sq-quote "$(cd "$origin/.." && pwd)/packs/lfs")
  printf '%s\n' "$clean" > "$work/.git/lfs/clean"
  printf '%s\n' "$smudge" > "$work/.git/lfs/smudge"
  repo config filter.lfs.clean "sh$(repo rev-parse --sq-quote "$work/.git/lfs/clean")$large %f"
  repo config filter.lfs.smudge "sh$(repo rev-parse --sq-quote "$work/.git/lfs/smudge")$large %f"
  repo config filter.lfs.required true
  # What lies there already is looked at, and only the rest is written; of what somebody looked at before, as of files
  # that nobody can have written since, only the times.
  [ -z "$index" ] || cp "$index" "$work/.git/index"
  repo read-tree -m HEAD 2>/dev/null || { rm -f "$work/.git/index"; repo read-tree HEAD; }
  repo update-index -q --refresh >/dev/null || true
  repo reset --quiet --hard
  repo config user.name "Journeyman's agent"
  repo config user.email agent@journeyman.invalid
  repo config push.autoSetupRemote true
  # Tools that read of whom the repository is find its address; git goes to the origin all the same.
  if [ -n "$address" ]; then
    repo config remote.origin.url "$address"
    repo config "url.$origin.insteadOf" "$address"
  fi
  mkdir -p "$work/.git/info"
  printf '%s\n' /.journeyman/ "$@" >> "$work/.git/info/exclude"
  # What is left of a clone before is not taken for new.
  repo clean -qffd
  repo config journeyman.cloned yes
fi
[ -n "$branch" ] || exit 0
[ "$(repo symbolic-ref --quiet HEAD || true)" != "refs/heads/$branch" ] || exit 0
if repo show-ref --quiet --verify "refs/heads/$branch"; then
  repo checkout --quiet "$branch" -- 2>/dev/null || {
    repo stash push --quiet --include-untracked
    repo checkout --quiet "$branch" --
  }
elif repo show-ref --quiet --verify "refs/remotes/origin/$branch"; then
  repo checkout --quiet -B "$branch" --track "origin/$branch"
else
  repo checkout --quiet -B "$branch"
fi
"#;

/// Exit code of [`Workspaces::clone_command`] if the origin is unreadable: see [`Workspaces::lose_origin`].
pub const ORIGIN_DAMAGED: i32 = 75;

/// Prints the branch's commit and the objects that its tree adds to the base's. Always succeeds: a missing push is
/// feedback for the worker.
const EXPORT: &str = r#"
set -u
origin=$1 branch=$2 base=$3
export GIT_DIR="$origin" GIT_NO_REPLACE_OBJECTS=1 GIT_TERMINAL_PROMPT=0
if pushed=$(git rev-parse --quiet --verify "refs/heads/$branch^{commit}"); then
  printf '%s\n' "$pushed"
  { printf '%s\n' "$pushed"
    git rev-list --objects --no-object-names "$pushed^{tree}" "^$base^{tree}"
  } | git cat-file --batch --buffer
elif there=$(git for-each-ref --count=20 --format='%(refname:short)' refs/heads); then
  printf 'none: the branch %s was not pushed; in the origin there is: %s\n' "$branch" \
    "$(printf '%s' "$there" | tr '\n' ' ')"
else
  printf 'none: the origin is no git repository any more\n'
fi
"#;

impl Workspaces {
    /// Creates the order's folders and the agent's origin: a bare repository with the base on its default branch and no
    /// path to our repositories. Only once; later calls keep the agent's changes.
    ///
    /// With a different start than before, everything except the home and the plan folder is recreated at the same
    /// paths: the start on the order's branch, and the default branch where the order's branch left it. No job may run
    /// there. If killed, the next call repeats it.
    ///
    /// Returns whether it was created now.
    pub fn create_origin(
        &self,
        order: OrderId,
        repository: &RepositoryName,
        base: &CommitSha,
        default_branch: &str,
        start: Option<StartPoint<'_>>,
    ) -> Result<bool, GitError> {
        let places = self.order_dirs(order);
        let start = start.filter(|start| start.commit != base);
        let _alone = self.lock_of(order.to_string());
        for folder in [&places.work, &places.home, &places.runs, &places.tests] {
            std::fs::create_dir_all(folder).map_err(|error| GitError::file("make", folder, &error))?;
        }
        let line = worktree_base::line(base, start);
        if std::fs::symlink_metadata(&places.origin).is_ok() {
            let there = worktree_base::recorded(&places)?;
            if there.map_or(start.is_none(), |there| there == line) {
                return Ok(false);
            }
        }
        let (half, packs) = (places.root.join("origin.half"), places.root.join("packs.half"));
        self.make_origin(repository, (base, default_branch), start, (&half, &packs))?;
        worktree_base::making(&places)?;
        remove_all(&places.origin)?;
        remove_all(&places.packs)?;
        std::fs::rename(&packs, &places.packs)
            .map_err(|error| GitError::file("make", &places.packs, &error))?;
        worktree_base::empty(&places.work)?;
        if places.work_written.exists() {
            worktree_base::empty(&places.work_written)?;
        }
        std::fs::rename(&half, &places.origin)
            .map_err(|error| GitError::file("make", &places.origin, &error))?;
        worktree_base::record(&places, &line)?;
        Ok(true)
    }

    /// Records that the agent's origin is damaged: the next [`Workspaces::create_origin`] recreates it and the work
    /// tree. Pushed commits that were not imported are lost.
    pub fn lose_origin(&self, order: OrderId) -> Result<(), GitError> {
        tracing::warn!(%order, "the agent's repository is damaged, and is made again");
        worktree_base::making(&self.order_dirs(order))
    }

    fn make_origin(
        &self,
        repository: &RepositoryName,
        (base, default_branch): (&CommitSha, &str),
        start: Option<StartPoint<'_>>,
        (place, packs): (&Path, &Path),
    ) -> Result<(), GitError> {
        let head = format!("refs/heads/{default_branch}");
        if !git2::Reference::is_valid_name(&head) {
            return Err(GitError::broken(format!("{default_branch:?} is not a branch's name")));
        }
        let commits = self.commits(repository)?;
        for commit in std::iter::once(base).chain(start.map(|start| start.commit)) {
            self.tree_within(&commits, oid(commit)?)?;
        }
        remove_all(place)?;
        remove_all(packs)?;
        let (mirror, known) = (self.mirror(repository)?, self.known(repository)?);
        let origin = init_bare(place, default_branch)?;
        // Whole packs of fetched objects without any order's work. They are the mirror's own files, read-only for jobs,
        // and they survive when the mirror repacks.
        let held = self.lock(repository);
        link_packs(&mirror.path().join("objects/pack"), &packs.join("pack"))?;
        drop(held);
        for commit in std::iter::once(base).chain(start.map(|start| start.commit)) {
            let files = self.large_files_of(repository, &commits, commit)?;
            let ids = files.pointers().values().map(|pointer| &pointer.id);
            files.store.link(ids, &packs.join(LARGE_FILES))?;
        }
        let info = place.join("objects/info");
        std::fs::create_dir_all(&info)
            .and_then(|()| std::fs::write(info.join("alternates"), PACKS))
            .map_err(|error| GitError::file("write into", &info, &error))?;
        // Add the packs here too, because they are not at their final path yet.
        let whole =
            packs.to_str().ok_or_else(|| GitError::broken("the data folder's name is no text".to_owned()))?;
        origin.odb().and_then(|odb| odb.add_disk_alternate(whole))?;
        let Some(StartPoint { commit, branch }) = start else {
            let base = oid(base)?;
            origin.find_commit(base)?;
            origin.reference(&head, base, true, "")?;
            return Ok(());
        };
        self.copy_commit(repository, commit, &known, &origin)?;
        let fork = oid(&self.fork(repository, default_branch, base, commit)?)?;
        origin.odb().and_then(|odb| odb.refresh())?;
        let set = |name: &str, id: git2::Oid| {
            origin.find_commit(id).and_then(|_| origin.reference(name, id, true, "")).map(|_| ())
        };
        set(&head, fork)?;
        set(&branch.reference(), oid(commit)?).map_err(GitError::from)
    }

    /// The command that readies the agent's work tree. Run it *in the agent's sandbox* in the directory `work`, with
    /// `work` and `origin` mounted writable. It clones if there is no sound clone, and checks out `branch`, creating it
    /// from the current commit if missing. Repeating it is harmless. `places` are the paths that the job sees;
    /// `installed` are paths from a setup, outside the repository; `index` belongs to a repository with the same files,
    /// mounted read-only; `address` is the repository's public address.
    pub fn clone_command(
        places: &OrderDirs,
        branch: Option<&BranchName>,
        index: Option<&Path>,
        address: Option<&str>,
        installed: &[String],
    ) -> Vec<OsString> {
        let branch = branch.map_or("", BranchName::as_str);
        let index = index.unwrap_or(Path::new("")).as_os_str();
        let (origin, work) = (places.origin.as_os_str(), places.work.as_os_str());
        let mut arguments = vec![origin, work, branch.as_ref(), index, address.unwrap_or_default().as_ref()];
        arguments.extend([filter::CLEAN, filter::SMUDGE].map(std::ffi::OsStr::new));
        let patterns: Vec<String> = installed.iter().map(|path| ignored(path)).collect();
        arguments.extend(patterns.iter().map(std::ffi::OsStr::new));
        shell(CLONE, &arguments)
    }

    /// The command that prints the pushed objects for [`Workspaces::import`]. Run it *in a sandbox* with `origin`
    /// mounted read-only, without network, and with output limited to [`journeyman_order::bounds::MOST_PRINTED`]. Its
    /// exit code means nothing, and its output is untrusted.
    pub fn export_command(places: &OrderDirs, branch: &BranchName, base: &CommitSha) -> Vec<OsString> {
        let arguments = [places.origin.as_os_str(), branch.as_str().as_ref(), base.as_str().as_ref()];
        shell(EXPORT, &arguments)
    }
}

/// A path from the root, as a gitignore pattern.
fn ignored(path: &str) -> String {
    let mut pattern = String::from("/");
    for character in path.chars() {
        if matches!(character, '*' | '?' | '[' | '\\' | ' ' | '!' | '#') {
            pattern.push('\\');
        }
        // A pattern has only one line, so `?` matches a newline in a name.
        pattern.push(if matches!(character, '\n' | '\r') { '?' } else { character });
    }
    pattern
}

/// Passes arguments separately, never inside the script.
pub(super) fn shell(script: &str, arguments: &[&std::ffi::OsStr]) -> Vec<OsString> {
    let mut command: Vec<OsString> = ["sh", "-c", script, "sh"].map(OsString::from).to_vec();
    command.extend(arguments.iter().map(OsString::from));
    command
}

/// The path from the origin's object folder to the fetched packs.
const PACKS: &str = "../../packs\n";

/// The folder beside the packs with contents of Git LFS; the clone command uses it too.
const LARGE_FILES: &str = "lfs";

fn link_packs(from: &Path, to: &Path) -> Result<(), GitError> {
    std::fs::create_dir_all(to).map_err(|error| GitError::file("make", to, &error))?;
    let said = |error: std::io::Error| GitError::file("copy", from, &error);
    for file in std::fs::read_dir(from).map_err(said)? {
        let path = file.map_err(said)?.path();
        let packed = path.extension().is_some_and(|ending| ending == "pack" || ending == "idx");
        if let (true, Some(name)) = (packed, path.file_name()) {
            let place = to.join(name);
            // Not every file system supports links.
            std::fs::hard_link(&path, &place)
                .or_else(|_| std::fs::copy(&path, &place).map(drop))
                .map_err(said)?;
        }
    }
    Ok(())
}
