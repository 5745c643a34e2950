//! What the base's tests are built from: made once in an environment, so that no run builds its dependencies again.
//!
//! May know: which folders of a build may be kept. Must never know: which tool made them.
//!
//! A build of the base must never pass for one of a change. Whatever the times of its files say, a run compiles the
//! repository's own code itself: all that is kept in the tree is dated before any source, and programs and libraries of the
//! base that tests could start are not kept.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::prepare::{bytes_on_disk, date};
use super::shelf::{BUILDS, BaseBuildRecord, HALF, Lease, entries, is_leftover, set_aside, used_at};
use super::{Environment, EnvironmentProgress, EnvironmentRequest, Environments, Preparation, TreePurpose};
use crate::command::{CommandOptions, run_command};
use crate::effect_error::disk;
use crate::job::{blocking, remove};
use crate::place::folder::{LayerMethod, LayeredFolder};
use crate::place::{EnvironmentPlace, HOME};
use journeyman_environment::{BuildFolder, KeptBuild, RepositoryFiles, kept_build};
use journeyman_order::{EffectError, Exit};
use journeyman_workspace::{SourceTree, remove_all};

const LAYERS: [&str; 2] = ["tree", HOME];
/// Most builds of one environment.
const MOST: usize = 8;
/// The time of all that is kept in the tree, in seconds since 1970. Archives of npm and pip unpack to later times.
const LONG_AGO: i64 = 1;

#[derive(Debug)]
pub(super) struct BaseBuild {
    folder: PathBuf,
    _lease: Lease,
}

impl BaseBuild {
    pub(super) fn layer(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Environments {
    /// The same as [`Self::prepare`], for test runs on a base: they begin with its build.
    pub(crate) async fn prepare_built(&self, ask: &EnvironmentRequest) -> Result<Preparation, EffectError> {
        let made = Box::pin(self.prepare(ask)).await?;
        if let Preparation::Ready(environment) = &made
            && let Some(build) = Box::pin(self.base_build(ask, environment)).await?
        {
            // It was made just now, so it has none.
            let _ = environment.build.set(build);
        }
        Ok(made)
    }

    async fn base_build(
        &self,
        ask: &EnvironmentRequest,
        environment: &Arc<Environment>,
    ) -> Result<Option<BaseBuild>, EffectError> {
        // Without layers each run would copy it, and an environment of these very sources serves few runs.
        if environment.method == LayerMethod::Copy || environment.record.is_of_sources.is_some() {
            return Ok(None);
        }
        let Some(test) = ask.plan.test_command().map(str::to_owned) else { return Ok(None) };
        let source = ask.source.clone();
        let kept = blocking(move || {
            let paths: Vec<String> = source.paths().filter_map(Path::to_str).map(str::to_owned).collect();
            let read = |path: &str| source.read(path);
            kept_build(&test, &RepositoryFiles::new(&paths, &read))
        });
        let Some(kept) = kept.await? else { return Ok(None) };
        let name = hex::encode(Sha256::digest(&kept.command));
        let folder = environment.folder.join(BUILDS).join(name.get(..16).unwrap_or(&name));
        let alone = self.alone(folder.clone());
        let _alone = alone.lock().await;
        let build = BaseBuild { _lease: self.lease(&folder), folder };
        if !is_there(&build) {
            self.make_build(ask, environment, kept, &build.folder).await?;
        }
        Ok(Some(build))
    }

    async fn make_build(
        &self,
        ask: &EnvironmentRequest,
        environment: &Arc<Environment>,
        kept: KeptBuild,
        folder: &Path,
    ) -> Result<(), EffectError> {
        let shelf = environment.folder.parent().unwrap_or(&environment.folder);
        let half = shelf.join(format!("{HALF}{}", uuid::Uuid::new_v4().simple()));
        let made = Box::pin(self.make_half_build(ask, environment, kept, &half)).await;
        if made.is_err() {
            remove(&half).await?;
        }
        made?;
        let (own, folder, builds) = (self.clone(), folder.to_owned(), environment.folder.join(BUILDS));
        let put = blocking(move || {
            fs::create_dir_all(&builds)?;
            remove_all(&set_aside(&folder)?).map_err(io::Error::other)?;
            fs::rename(&half, &folder)?;
            own.tidy_builds(&builds)
        });
        put.await?.map_err(disk("keep a build"))
    }

    async fn make_half_build(
        &self,
        ask: &EnvironmentRequest,
        environment: &Arc<Environment>,
        kept: KeptBuild,
        half: &Path,
    ) -> Result<(), EffectError> {
        let at = half.join("made");
        let (made_of, ask, folder) = (Arc::clone(environment), ask.clone(), at.clone());
        let placed = blocking(move || {
            made_of
                .place(&ask.plan, &ask.source, &ask.laid, (&folder, &ask.inside), TreePurpose::Tests)
                .map(|(place, _)| (place, ask.source))
        });
        let (place, source) = placed.await?.map_err(disk("lay files over a checkout"))?;
        let command = kept.command.clone();
        self.progress.tell(EnvironmentProgress::BuildBegan { command: command.clone() });
        let _shown = self.board.show(format!("build of the base: {command}"));
        // As the tests have it: without a network, and with their time.
        let how = CommandOptions {
            name: "build".to_owned(),
            access: None,
            timeout: self.inner.settings.test_time,
            environment: BTreeMap::new(),
        };
        let ended = Box::pin(run_command(&self.inner.sandbox, &place, &command, how)).await?;
        // A base that does not compile leaves its dependencies. A build that was ended leaves halves.
        let has_ended = matches!(ended.run.exit, Exit::Code(_)) && ended.limit.is_none();
        let half = half.to_owned();
        let put = blocking(move || {
            let layers = || LAYERS.iter().try_for_each(|layer| fs::create_dir_all(half.join(layer)));
            layers()?;
            if has_ended && let Err(error) = keep(&kept, &place, &source, &half) {
                tracing::info!("nothing of the build `{command}` is kept: {error}");
                LAYERS
                    .iter()
                    .try_for_each(|layer| remove_all(&half.join(layer)))
                    .map_err(io::Error::other)?;
                layers()?;
            }
            remove_all(&at).map_err(io::Error::other)?;
            let bytes = bytes_on_disk(&half)?;
            BaseBuildRecord { command, bytes }.write(&half)
        });
        put.await?.map_err(disk("keep a build"))
    }

    /// Removes leftovers, and the unused builds of which there are too many.
    fn tidy_builds(&self, builds: &Path) -> io::Result<()> {
        let (left, mut all): (Vec<PathBuf>, Vec<PathBuf>) =
            entries(builds).partition(|build| is_leftover(build));
        all.sort_by_cached_key(|build| Reverse(used_at(build)));
        for build in left.into_iter().chain(all.into_iter().skip(MOST)) {
            let leased = self.leased();
            if leased.contains_key(&build) {
                continue;
            }
            let away = set_aside(&build)?;
            drop(leased);
            remove_all(&away).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

fn is_there(build: &BaseBuild) -> bool {
    BaseBuildRecord::read(&build.folder).is_some()
        && LAYERS.iter().all(|layer| fs::read_dir(build.layer(layer)).is_ok())
}

/// Moves what may be kept into the layers.
fn keep(kept: &KeptBuild, place: &EnvironmentPlace, source: &SourceTree, half: &Path) -> io::Result<()> {
    let [tree, home] = LAYERS.map(|layer| half.join(layer));
    [&place.tree, &place.home].into_iter().try_for_each(LayeredFolder::open_up)?;
    for folder in &kept.tree {
        keep_caches(folder, &place.tree, source, &tree)?;
    }
    date_all(&tree)?;
    kept.home.iter().try_for_each(|path| place.home.take_folder(Path::new(path), &home))
}

fn keep_caches(folder: &BuildFolder, tree: &LayeredFolder, source: &SourceTree, to: &Path) -> io::Result<()> {
    let written = tree.written();
    let is_file = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let is_signed = |path: &Path| {
        path.ancestors()
            .any(|above| !source.has_folder(above) && is_file(&written.join(above).join(folder.sign)))
    };
    let is_cache = |path: &Path| folder.caches.iter().any(|cache| path.ends_with(cache)) && is_signed(path);
    let is_entered = |path: &Path| source.has_folder(path) || is_signed(path) && !is_cache(path);
    for cache in tree.walk_written(&is_entered)?.iter().filter(|path| is_cache(path)) {
        tree.take_folder(cache, to)?;
        for entry in entries(&to.join(cache)) {
            if entry.file_name().and_then(|name| name.to_str()).is_some_and(|name| folder.is_own(name)) {
                remove_all(&entry).map_err(io::Error::other)?;
            }
        }
    }
    Ok(())
}

fn date_all(layer: &Path) -> io::Result<()> {
    let mut open = vec![layer.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            date(&entry.path(), LONG_AGO)?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::folder::tests::source;

    #[test]
    fn what_is_kept_of_a_build_is_older_than_any_source_and_is_not_of_the_repositorys_own_packages() {
        let place = tempfile::tempdir().unwrap();
        let (source, checkout) = source(place.path(), &[("Cargo.toml", ""), ("fuzz/Cargo.toml", "")]);
        let tree =
            LayeredFolder::make(&place.path().join("run/work"), &[checkout], LayerMethod::Overlay).unwrap();
        for path in [
            "target/.rustc_info.json",
            "target/debug/sample",
            "target/debug/examples/sample",
            "target/debug/deps/libserde-0123456789abcdef.rlib",
            "target/debug/deps/libsample.so",
            "target/debug/build/serde-0123456789abcdef/out/made.rs",
            "target/debug/build/sample-0123456789abcdef/out/made.rs",
            "target/debug/.fingerprint/sample-0123456789abcdef/lib",
            "target/debug/incremental/sample-1/cache",
            "fuzz/target/.rustc_info.json",
            "fuzz/target/x86_64-unknown-linux-gnu/release/deps/serde.d",
            // Of another tool.
            "build/deps/made",
            "node_modules/deps/made",
            "made.rs",
        ] {
            let path = tree.written().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let outside = place.path().join("outside");
        fs::create_dir_all(outside.join("debug/deps")).unwrap();
        fs::write(outside.join(".rustc_info.json"), "").unwrap();
        std::os::unix::fs::symlink(&outside, tree.written().join("linked")).unwrap();
        let cargo = BuildFolder {
            sign: ".rustc_info.json",
            caches: &[".fingerprint", "build", "deps", "incremental"],
            own: ["sample".to_owned()].into(),
        };
        let layer = place.path().join("layer");
        fs::create_dir(&layer).unwrap();

        keep_caches(&cargo, &tree, &source, &layer).unwrap();
        date_all(&layer).unwrap();

        let mut kept =
            LayeredFolder::existing(&layer, &[], LayerMethod::Copy).walk_written(&|_| true).unwrap();
        kept.sort();
        let expected = [
            "fuzz/target/x86_64-unknown-linux-gnu/release/deps/serde.d",
            "target/debug/build/serde-0123456789abcdef/out/made.rs",
            "target/debug/deps/libserde-0123456789abcdef.rlib",
            "target/debug/incremental/sample-1/cache",
        ];
        assert_eq!(kept, expected.map(PathBuf::from));
        let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
        for path in kept {
            assert_eq!(fs::metadata(layer.join(&path)).unwrap().modified().unwrap(), long_ago, "{path:?}");
        }
        assert!(outside.join("debug/deps").is_dir(), "nothing is taken through a link");
    }
}
