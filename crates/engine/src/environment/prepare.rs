//! Makes an environment: a checkout, separate layers with the result of its setup, and a one-commit repository for
//! tests.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

use super::origin_of_files::made_of_sources;
use super::setup::FinishedSetup;
use super::shelf::{EnvironmentRecord, HALF, set_aside};
use super::{Environment, EnvironmentRequest, Environments, INSIDE, Preparation};
use crate::command::FinishedCommand;
use crate::effect_error::{disk, soon};
use crate::job::{blocking, remove};
use crate::place::EnvironmentPlace;
use crate::place::folder::{LayerMethod, LayeredFolder};
use crate::place::{HOME, MADE, PlaceRoot, RECORD, ROOT, TREE};
use journeyman_order::EffectError;
use journeyman_order::bounds::MOST_LOOKED_AT;
use journeyman_sandbox::MOST_LAYERS;
use journeyman_workspace::SourceTree;

/// Folders of an environment that nothing writes once it is kept.
const KEPT: [&str; 5] = ["checkout", "tree", "repository", HOME, ROOT];
const MOST_BELOW: usize = MOST_LAYERS - 4;
/// Checked-out files are dated this many seconds back, so that build tools see later writes as newer.
const BEFORE: i64 = 60;
/// Where user-installed programs are. They are not a cache, so a new environment does not inherit them.
const INSTALLED: [&str; 2] = [".local/lib", ".local/bin"];

/// Many projects ask git for their version or files. There is always one commit, so the count reveals nothing about the
/// run. Standard input names the overlaid files, because adding everything would add ignored files as sources. It has
/// the newest version's tag if a build asks for one. A remote `origin` serves tools that ask for the owner. It lasts
/// one run, so it needs neither a small size nor crash safety.
const COMMIT: &str = "fast='-c core.fsync=none -c core.looseCompression=0 -c gc.auto=0 -c core.logAllRefUpdates=false'; \
    if [ -d .git ]; then amend=--amend; else amend=; git init -q; fi && \
    git $fast add -Af --pathspec-from-file=- --pathspec-file-nul && \
    git $fast -c user.name=dev -c user.email=dev@localhost -c commit.gpgSign=false \
    commit -q $amend --no-verify --allow-empty -m Update && \
    { [ -z \"$1\" ] || git tag --force --no-sign -- \"$1\" >/dev/null; } && \
    { [ -z \"$2\" ] || git config remote.origin.url \"$2\"; }";

impl Environments {
    pub(super) async fn make(
        &self,
        ask: &EnvironmentRequest,
        shelf: &Path,
        [name, exact]: [String; 2],
    ) -> Result<Preparation, EffectError> {
        let half = shelf.join(format!("{HALF}{}", uuid::Uuid::new_v4().simple()));
        let below = self.downloads(ask, [&name, &exact]);
        let shared = self.inner.workspaces.environments(&ask.repository);
        let _leases: Vec<_> = below.iter().map(|name| self.lease(&shared.join(name))).collect();
        let is_there = below.iter().all(|name| shared.join(name).join("home").is_dir());
        let below = if is_there { below } else { Vec::new() };
        let is_over = !below.is_empty();
        let mut made = Box::pin(self.make_half(ask, &half, below)).await;
        if let (true, Ok(Err(_))) = (is_over, &made) {
            // The reused downloads may be the cause, so retry without them.
            remove(&half).await?;
            made = Box::pin(self.make_half(ask, &half, Vec::new())).await;
        }
        if !matches!(made, Ok(Ok(_))) {
            remove(&half).await?;
        }
        let record = match made? {
            Ok(record) => record,
            Err(failed) => return Ok(Preparation::Failed(failed)),
        };
        // An environment for specific sources replaces none and is never replaced: it may be in use.
        let there = shelf.join(&name);
        let is_of_others = EnvironmentRecord::read(&there).is_some_and(|known| known.is_of_sources.is_some());
        let is_of_these = record.is_of_sources.is_some() && there.exists();
        let name = if is_of_these || is_of_others { exact } else { name };
        let folder = shelf.join(&name);
        set_aside(&folder).map_err(disk("set an environment aside"))?;
        fs::rename(&half, &folder).map_err(disk("keep an environment"))?;
        let made = self.with(&ask.repository, folder, record, false).await?;
        let made = made.ok_or_else(|| soon("an environment is gone that was made now".to_owned()))?;
        self.tidy().await?;
        Ok(Preparation::Ready(std::sync::Arc::new(made)))
    }

    /// Environments whose homes the new one builds on: the nearest, then those below it.
    fn downloads(&self, ask: &EnvironmentRequest, own: [&str; 2]) -> Vec<String> {
        let Some((name, record)) = self.nearest(ask) else { return Vec::new() };
        let below: Vec<String> = std::iter::once(name).chain(record.home_below).collect();
        // An environment cannot build on one that it will replace.
        let is_own = below.iter().any(|name| own.contains(&name.as_str()));
        if is_own || below.len() > MOST_BELOW { Vec::new() } else { below }
    }

    async fn make_half(
        &self,
        ask: &EnvironmentRequest,
        half: &Path,
        below: Vec<String>,
    ) -> Result<Result<EnvironmentRecord, Box<FinishedCommand>>, EffectError> {
        let checkout = half.join("checkout");
        let (workspaces, repository, commit, into) =
            (self.inner.workspaces.clone(), ask.repository.clone(), ask.commit.clone(), checkout.clone());
        let checked_out = blocking(move || workspaces.checkout(&repository, &commit, &into));
        checked_out.await??;
        let (source, laid, place) = (ask.source.clone(), ask.laid.clone(), checkout.clone());
        blocking(move || {
            LayeredFolder::existing(&place, &[], LayerMethod::Copy).lay(&laid, &source)?;
            date_back(&place, &source)
        })
        .await?
        .map_err(disk("lay files over a checkout"))?;

        // The build sees its folder at the path of later use.
        let made = match ask.inside == Path::new(INSIDE) {
            true => half.join("made"),
            // Without a sandbox it cannot be shown elsewhere, so it is made at the path of use, which is free now.
            false => {
                // Leftovers of a failed setup are no basis for the next one. They stay if an agent works there.
                if !ask.inside.join(RECORD).exists() {
                    for name in [TREE, HOME, ROOT] {
                        remove(&ask.inside.join(name)).await?;
                    }
                }
                ask.inside.clone()
            }
        };
        let shared = self.inner.workspaces.environments(&ask.repository);
        let homes: Vec<PathBuf> = below.iter().map(|name| shared.join(name).join("home")).collect();
        let method = self.inner.method;
        let place = |tree: LayeredFolder, home: LayeredFolder| {
            EnvironmentPlace::at(tree, home, (&made, &ask.inside), &ask.plan)
        };
        let folder = |name: &str, lower: &[PathBuf]| {
            LayeredFolder::make(&made.join(name), lower, method).map_err(disk("make a folder of layers"))
        };
        let home = folder(HOME, &homes)?;
        home.hide_all(&INSTALLED.map(PathBuf::from)).map_err(disk("hide what was installed before"))?;
        let sources: Vec<PathBuf> = ask.source.paths().map(Path::to_owned).collect();
        let repository = place(folder(TREE, std::slice::from_ref(&checkout))?, home.clone());
        let address = ask.source.public_address();
        self.commit_for_tests(&repository, &sources, ask.version_tag.as_deref(), address.as_deref()).await;
        let mut layers = vec![checkout.clone()];
        let tree = match method {
            LayerMethod::Overlay => {
                fs::rename(repository.tree.written(), half.join("repository"))
                    .map_err(disk("keep a repository"))?;
                layers.insert(0, half.join("repository"));
                folder(TREE, &layers)?
            }
            LayerMethod::Copy => repository.tree.clone(),
        };
        let mut place = place(tree, home);
        let image = match &ask.plan.image {
            Some(name) => Some(self.image(name).await?),
            None => None,
        };
        if let Some(image) = &image {
            let of = image.facts();
            place.root = Some(PlaceRoot { folder: folder(ROOT, &[image.root().to_owned()])?, of });
        }
        let FinishedSetup { run, steps, output, network } =
            match Box::pin(self.run_setup(ask, &place)).await? {
                Ok(finished) => finished,
                Err(failed) => return Ok(Err(failed)),
            };
        let mut record = EnvironmentRecord {
            commit: ask.commit.clone(),
            laid: ask.laid.clone(),
            setup: run,
            steps,
            output,
            network,
            is_of_sources: None,
            installed: Vec::new(),
            home_below: below,
            image: ask.plan.image.clone(),
            bytes: 0,
        };
        let (source, plan) = (ask.source.clone(), ask.plan.clone());
        let seen_tree = ask.inside.join(TREE).display().to_string();
        let (half, ask_inside, made) = (half.to_owned(), ask.inside.clone(), made.clone());
        let record = blocking(move || {
            let _image = image;
            let root = place.root.as_ref().map(|root| &root.folder);
            [&place.tree, &place.home].into_iter().chain(root).try_for_each(LayeredFolder::open_up)?;
            // The tests must see the commit, whatever its setup changed.
            clear_compiled_python(&place.tree, &source)?;
            let changed = place.tree.differing(&source)?;
            place.tree.lay(&changed, &source)?;
            place.tree.clear(&[PathBuf::from(".git")])?;
            if record.setup.is_some() {
                record.is_of_sources = made_of_sources(&place.tree, &place.home, &plan, &source, &seen_tree)?;
            }
            let written = place.tree.walk_written(&|path| source.has_folder(path))?;
            let is_installed = |path: &&PathBuf| !source.has(path) && record.setup.is_some();
            let installed = written.iter().filter(is_installed).filter_map(|path| path.to_str());
            record.installed = installed.take(MOST_LOOKED_AT).map(str::to_owned).collect();
            fs::rename(place.tree.written(), half.join("tree"))?;
            fs::rename(place.home.written(), half.join("home"))?;
            if let Some(root) = root {
                fs::rename(root.written(), half.join(ROOT))?;
            }
            [&place.tree, &place.home]
                .into_iter()
                .chain(root)
                .try_for_each(LayeredFolder::remove)
                .map_err(std::io::Error::other)?;
            fs::remove_dir(&made).or_else(|error| if made == ask_inside { Ok(()) } else { Err(error) })?;
            record.bytes = KEPT
                .iter()
                .try_fold(0, |sum, name| Ok::<u64, std::io::Error>(sum + bytes_on_disk(&half.join(name))?))?;
            // A new id shows places built on this path that the environment was replaced.
            fs::write(half.join(MADE), uuid::Uuid::new_v4().to_string())?;
            record.write(&half)?;
            Ok(record)
        })
        .await?
        .map_err(disk("keep what a setup made"))?;
        Ok(Ok(record))
    }

    /// Makes the one-commit repository that tests see, or commits the overlays to it.
    pub(crate) async fn commit_for_tests(
        &self,
        place: &EnvironmentPlace,
        paths: &[PathBuf],
        version: Option<&str>,
        address: Option<&str>,
    ) {
        let mut named = Vec::new();
        for path in paths {
            named.extend_from_slice(b":(literal,top)");
            named.extend_from_slice(path.as_os_str().as_bytes());
            named.push(0);
        }
        let command =
            ["sh", "-c", COMMIT, "commit", version.unwrap_or_default(), address.unwrap_or_default()];
        let ran = crate::command::short(&self.inner.sandbox, place, &command, place.tree_mount(), named);
        if let Err(trouble) = ran.await {
            tracing::info!("the checkout has no repository: {}", trouble.message);
        }
    }
}

impl Environment {
    /// Git's index of its checkout, with file times. A checkout of the same files need not read them again.
    pub(crate) fn index(&self) -> Option<PathBuf> {
        let index = self.folder.join("repository/.git/index");
        (self.method == LayerMethod::Overlay && index.is_file()).then_some(index)
    }

    /// Whether tests see a one-commit repository, to which overlays are added.
    pub(crate) fn has_repository(&self) -> bool {
        self.method == LayerMethod::Overlay && self.folder.join("repository/.git").exists()
    }
}

pub(super) fn bytes_on_disk(folder: &Path) -> std::io::Result<u64> {
    let (mut bytes, mut open) = (0, vec![folder.to_owned()]);
    while let Some(folder) = open.pop().filter(|folder| folder.is_dir()) {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let found = entry.metadata()?;
            bytes += found.blocks() * 512;
            if found.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Ok(bytes)
}

fn date_back(checkout: &Path, source: &SourceTree) -> std::io::Result<()> {
    let time = chrono::Utc::now().timestamp() - BEFORE;
    source.paths().try_for_each(|path| date(&checkout.join(path), time))
}

/// Sets the time of a file, folder or link, in seconds since 1970.
pub(super) fn date(path: &Path, seconds: i64) -> std::io::Result<()> {
    let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).map_err(std::io::Error::from)
}

/// Removes compiled Python, which fits only these sources and detects changes only to the second.
fn clear_compiled_python(tree: &LayeredFolder, source: &SourceTree) -> std::io::Result<()> {
    let is_cache = |path: &Path| path.file_name().is_some_and(|name| name == "__pycache__");
    let written = tree.walk_written(&|path| !is_cache(path) && source.has_folder(path))?;
    let caches: Vec<PathBuf> = written.into_iter().filter(|path| is_cache(path)).collect();
    tree.clear(&caches)
}
