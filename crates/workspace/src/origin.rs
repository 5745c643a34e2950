//! The agent's own repository: made by us before any agent ran, and from then on touched from inside its sandbox only.

use std::ffi::OsString;
use std::path::Path;

use super::large_files::filter;
use super::remote::oid;
use super::worktree_base::{self, StartPoint};
use super::{GitError, OrderDirs, Workspaces, init_bare, remove_all};
use journeyman_order::{BranchName, CommitSha, OrderId, RepositoryName};

/// Who commits of the agent's are by, unless it says otherwise. They are never published.
pub(super) const AGENT_NAME: &str = "Journeyman's agent";
pub(super) const AGENT_EMAIL: &str = "agent@journeyman.invalid";

/// Clones the origin, once, and brings the branch forward. Run where an agent may have done anything: a repository
/// that is broken is cloned anew, the folder for plans is kept out of commits, and uncommitted work in the way of a
/// branch is put aside, not lost. Ends with [`ORIGIN_DAMAGED`] where the origin is what power that was cut leaves.
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

/// How the command ends that readies the work tree, where the origin cannot be read: see [`Workspaces::lose_origin`].
pub const ORIGIN_DAMAGED: i32 = 75;

/// Says where the branch is and writes what its tree has that the base's has not. Ends well in any case: that
/// nothing was pushed is for the worker to hear.
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
    /// Makes the order's folders and the agent's origin: a bare repository with the base on its default branch, and
    /// nothing in it that leads to a repository of ours. Once; later calls leave what the agent made of it.
    ///
    /// With another start than before, all of that is made anew at the same paths, with the start on the order's branch
    /// and the default branch where that left it: the home stays, and so does the folder for plans. Nobody may be at
    /// work there. Killed at any moment, it is made again by the next call.
    ///
    /// Says whether it was made now.
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

    /// Says that the agent's origin is damaged: it is made anew by the next [`Workspaces::create_origin`], and with it the
    /// work tree. What was pushed there and not imported is gone.
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
        // Whole packs, which hold what was fetched and no order's work. They are the mirror's own files, which no job may
        // write; they stay when the mirror makes others of them.
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
        let said = |error: git2::Error| GitError::local("find the base commit in the mirror", &error);
        // They are not where they are going to be.
        let whole =
            packs.to_str().ok_or_else(|| GitError::broken("the data folder's name is no text".to_owned()))?;
        origin.odb().and_then(|odb| odb.add_disk_alternate(whole)).map_err(said)?;
        let Some(StartPoint { commit, branch }) = start else {
            let base = oid(base)?;
            origin.find_commit(base).map_err(said)?;
            origin.reference(&head, base, true, "").map_err(said)?;
            return Ok(());
        };
        self.copy_commit(repository, commit, &known, &origin)?;
        let fork = oid(&self.fork(repository, default_branch, base, commit)?)?;
        origin.odb().and_then(|odb| odb.refresh()).map_err(said)?;
        let set = |name: &str, id: git2::Oid| {
            origin.find_commit(id).and_then(|_| origin.reference(name, id, true, "")).map(|_| ())
        };
        set(&head, fork).map_err(said)?;
        set(&branch.reference(), oid(commit)?)
            .map_err(|error| GitError::local("find the commit to start from", &error))
    }

    /// The command that readies the agent's work tree, to be run *in the agent's sandbox*: directory `work`, `work` and
    /// `origin` mounted for writing. Clones when there is no sound clone; checks `branch` out, from where the work
    /// tree is when the branch does not exist yet. Doing it again is harmless. `places` are those that the job sees;
    /// `installed` are paths that a setup made, which are none of the repository's; `index` is one of a repository with
    /// the same files, mounted for reading; `address` is the one that people know the repository by.
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

    /// The command that writes what was pushed to its standard output, for [`Workspaces::import`], to be run *in a
    /// sandbox* with `origin` mounted for reading, without network, and with [`journeyman_order::bounds::MOST_PRINTED`] as the most
    /// output. Its exit code says nothing; its output is not to be trusted.
    pub fn export_command(places: &OrderDirs, branch: &BranchName, base: &CommitSha) -> Vec<OsString> {
        let arguments = [places.origin.as_os_str(), branch.as_str().as_ref(), base.as_str().as_ref()];
        shell(EXPORT, &arguments)
    }
}

/// A path from the root, as a pattern of what git ignores.
fn ignored(path: &str) -> String {
    let mut pattern = String::from("/");
    for character in path.chars() {
        if matches!(character, '*' | '?' | '[' | '\\' | ' ' | '!' | '#') {
            pattern.push('\\');
        }
        // No pattern has two lines: what has a line's end in its name is not hidden.
        pattern.push(if matches!(character, '\n' | '\r') { '?' } else { character });
    }
    pattern
}

/// Arguments are passed, never pasted into the script.
pub(super) fn shell(script: &str, arguments: &[&std::ffi::OsStr]) -> Vec<OsString> {
    let mut command: Vec<OsString> = ["sh", "-c", script, "sh"].map(OsString::from).to_vec();
    command.extend(arguments.iter().map(OsString::from));
    command
}

/// Where the origin finds what was fetched, from its folder of objects.
const PACKS: &str = "../../packs\n";

/// Beside the packs, contents of Git LFS under their names; the command that clones knows it too.
const LARGE_FILES: &str = "lfs";

fn link_packs(from: &Path, to: &Path) -> Result<(), GitError> {
    std::fs::create_dir_all(to).map_err(|error| GitError::file("make", to, &error))?;
    let said = |error: std::io::Error| GitError::file("copy", from, &error);
    for file in std::fs::read_dir(from).map_err(said)? {
        let path = file.map_err(said)?.path();
        let packed = path.extension().is_some_and(|ending| ending == "pack" || ending == "idx");
        if let (true, Some(name)) = (packed, path.file_name()) {
            let place = to.join(name);
            // Not every file system has links.
            std::fs::hard_link(&path, &place)
                .or_else(|_| std::fs::copy(&path, &place).map(drop))
                .map_err(said)?;
        }
    }
    Ok(())
}
