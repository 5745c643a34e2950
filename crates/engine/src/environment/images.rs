//! Images that jobs see as `/`: what their names mean, what is in them, and keeping them while they are used.
//!
//! May know: the image store, the sandbox, plans of environments. Must never know: orders, and what is run in an image.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;

use super::{EnvironmentProgress, Environments};
use crate::effect_error::{disk, soon};
use crate::host_tools;
use crate::job::{blocking, remove, short_job};
use crate::place::folder::{LayerMethod, LayeredFolder};
use crate::place::{HOME, ImageFacts, PlaceRoot, ROOT};
use journeyman_environment::{EnvironmentPlan, HostTools, MOST_COMMANDS, RepositoryFiles, version_arguments};
use journeyman_image::{
    ImageDigest, ImageError, ImageFault, ImageReference, ImageRoot, ImageSettings, ImageStore,
};
use journeyman_order::environment_report::EnvironmentProblem;
use journeyman_order::{EffectError, Exit, PinnedImages, RepositorySettings, TestingSettings};
use journeyman_sandbox::{CollectedOutput, Job, ProgramOwner, RootTrial, SandboxError};
use journeyman_workspace::{SourceTree, Workspaces};

/// Unused images are kept this long even on a full disk: a freshly pulled one is about to be used.
const YOUNG: Duration = Duration::from_secs(3_600);
/// Timeout of a program that prints its version.
const LONGEST_ANSWER: Duration = Duration::from_secs(10);

/// The images of this server.
#[derive(Debug)]
pub(super) struct Images {
    pub(super) store: ImageStore,
    /// Where programs are tried out.
    folder: PathBuf,
    /// Versions that programs in images reported, by image and name. `None`: they reported nothing.
    versions: Mutex<ImageVersions>,
}

type ImageVersions = BTreeMap<(String, String), Option<String>>;

/// An image that is kept as long as this lives.
#[derive(Debug, Clone)]
pub(crate) struct UsedImage {
    name: String,
    root: ImageRoot,
}

/// Why there is no plan.
#[derive(Debug)]
pub(crate) enum PlanFault {
    /// A person has to change something before an agent can work.
    Problem(EnvironmentProblem),
    Trouble(EffectError),
}

impl From<EffectError> for PlanFault {
    fn from(trouble: EffectError) -> Self {
        Self::Trouble(trouble)
    }
}

impl From<PlanFault> for EffectError {
    fn from(fault: PlanFault) -> Self {
        match fault {
            PlanFault::Problem(problem) => soon(problem.told()),
            PlanFault::Trouble(trouble) => trouble,
        }
    }
}

impl UsedImage {
    /// What jobs see as `/`. Nothing outside follows its links.
    pub(crate) fn root(&self) -> &Path {
        &self.root.path
    }

    /// The working folder of its own program, then that program with its arguments.
    pub(crate) fn command(&self) -> Vec<String> {
        let config = &self.root.config;
        let folder = config.working_dir.clone().unwrap_or_else(|| "/".to_owned());
        std::iter::once(folder).chain(config.entrypoint.iter().chain(&config.cmd).cloned()).collect()
    }

    pub(crate) fn facts(&self) -> ImageFacts {
        let own = self.root.config.env.iter().filter(|(name, _)| name != "PATH");
        ImageFacts {
            name: self.name.clone(),
            search: self.root.search_path(),
            variables: own.cloned().collect(),
        }
    }
}

impl Images {
    pub(super) fn new(workspaces: &Workspaces, settings: &TestingSettings) -> Result<Self, EffectError> {
        let how = ImageSettings { outgoing: settings.outgoing.clone(), ..ImageSettings::default() };
        let store =
            ImageStore::new(workspaces.images(), how).map_err(|error| soon(format!("no images: {error}")))?;
        Ok(Self { store, folder: workspaces.layers(), versions: Mutex::default() })
    }

    /// Removes images unused for a while, except these.
    pub(super) async fn remove_unused(&self, keep: &BTreeSet<String>) -> Result<(), EffectError> {
        let keep: BTreeSet<ImageDigest> =
            keep.iter().filter_map(|name| name.parse::<ImageReference>().ok()?.digest().cloned()).collect();
        let removed = self.store.remove_unused(&keep, YOUNG).await;
        let removed = removed.map_err(|error| soon(format!("cannot take away old images: {error}")))?;
        for digest in removed {
            tracing::info!("the image {digest} was not used for long, and is taken away");
        }
        Ok(())
    }

    fn versions(&self) -> MutexGuard<'_, ImageVersions> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Environments {
    /// What a commit's files and the repository's settings ask of the environment and the tests, and what image names
    /// mean. Known meanings are kept.
    pub(crate) async fn plan(
        &self,
        settings: RepositorySettings,
        source: SourceTree,
        known: &PinnedImages,
    ) -> Result<(EnvironmentPlan, PinnedImages), PlanFault> {
        let mut images = PinnedImages::default();
        let mut plan = self.plan_on(settings.clone(), source.clone(), None).await?;
        if let Some(name) = plan.image.clone() {
            let pinned = self.pinned(&name, known).await?;
            plan = self.plan_on(settings, source, Some(&pinned)).await?;
            plan.image = Some(pinned.clone());
            images.insert(name, pinned);
        }
        // A detected setup is a guess anyway, and may be cut. A written one would leave half an environment.
        if let Some(file) = &plan.cut_setup {
            return Err(PlanFault::Problem(EnvironmentProblem {
                what: format!("The setup of {file} has more than {MOST_COMMANDS} commands"),
                line: None,
                remedy: "Put them into a script and name that as the setup, or join some of them.".to_owned(),
            }));
        }
        for service in &mut plan.services {
            let pinned = self.pinned(&service.image, known).await?;
            images.insert(std::mem::replace(&mut service.image, pinned.clone()), pinned);
        }
        Ok((plan, images))
    }

    /// The same for a place already chosen: this image, or the machine's own system.
    pub(crate) async fn plan_on(
        &self,
        settings: RepositorySettings,
        source: SourceTree,
        image: Option<&str>,
    ) -> Result<EnvironmentPlan, PlanFault> {
        let image = match image {
            Some(name) => Some(self.image(name).await?),
            None => None,
        };
        let (own, runtime) = (self.clone(), Handle::current());
        let planned = blocking(move || {
            let paths: Vec<String> = source.paths().filter_map(Path::to_str).map(str::to_owned).collect();
            let read = |path: &str| source.read(path);
            let files = RepositoryFiles::new(&paths, &read)
                .without_submodules(source.missing_submodules())
                .without_large_files(source.missing_large_files());
            let plan = |tools: &HostTools<'_>| journeyman_environment::plan(&settings, &files, tools);
            match image {
                None => host_tools::with(&own.inner.sandbox, plan),
                Some(image) => {
                    let version = |program: &str| own.version_in(&image, program, &runtime);
                    plan(&HostTools::new(&|program| image.root.has_program(program), &version))
                }
            }
        });
        Ok(planned.await?)
    }

    /// The image of this name, complete on this machine.
    pub(super) async fn image(&self, name: &str) -> Result<UsedImage, PlanFault> {
        let reference = reference(name)?;
        let store = &self.inner.images.store;
        let fault = |error| fault(name, &error);
        let found = store.resolve(&reference).await.map_err(fault)?;
        let (progress, told) = (self.progress.clone(), name.to_owned());
        let observer = Arc::new(move |pulled| {
            progress.tell(EnvironmentProgress::ImagePulled { image: told.clone(), pulled });
        });
        let _shown = self.board.show(format!("image: {name}"));
        let root = store.root(&found, observer).await.map_err(fault)?;
        if !root.is_program(Path::new("/bin/sh")) {
            let lacks = "there is no /bin/sh in it, with which every command is started".to_owned();
            return Err(problem(name, Some(lacks), CHANGE));
        }
        Ok(UsedImage { name: name.to_owned(), root })
    }

    /// The reference by digest that a name stands for.
    async fn pinned(&self, name: &str, known: &PinnedImages) -> Result<String, PlanFault> {
        if self.inner.method == LayerMethod::Copy {
            return Err(problem(
                name,
                None,
                "Images need sandbox.mode = \"bubblewrap\" on a system where overlays can be mounted; \
                 `journeyman doctor` says what is missing. Or take `image` and `services` out.",
            ));
        }
        if let Some(pinned) = known.get(name) {
            return Ok(pinned.to_owned());
        }
        let found = self.inner.images.store.resolve(&reference(name)?).await;
        Ok(found.map_err(|error| fault(name, &error))?.to_string())
    }

    /// The version that a program of an image prints, in the sandbox and without network.
    fn version_in(&self, image: &UsedImage, program: &str, runtime: &Handle) -> Option<String> {
        if !image.root.has_program(program) {
            return None;
        }
        let key = (image.name.clone(), program.to_owned());
        if let Some(known) = self.inner.images.versions().get(&key) {
            return known.clone();
        }
        let command = std::iter::once(&program).chain(version_arguments(program));
        let asked = RootTrial { program: command.map(Into::into).collect(), owner: ProgramOwner::Root };
        let said = runtime.block_on(self.tried_in(image, asked)).unwrap_or_else(|trouble| {
            tracing::warn!("{program} of {} was not asked for its version: {}", image.name, trouble.message);
            Err(trouble.message)
        });
        let said = said.ok();
        self.inner.images.versions().insert(key, said.clone());
        said
    }

    /// Why a program of this machine cannot start in an image. `None` if it can.
    pub(crate) async fn unstartable(
        &self,
        image: &str,
        program: &Path,
    ) -> Result<Option<String>, EffectError> {
        let image = self.image(image).await?;
        if !image.root.has_program("git") {
            return Ok(Some("there is no git in it, with which work is handed over".to_owned()));
        }
        let trial = self.inner.sandbox.root_trial(program)?;
        let key = (image.name.clone(), format!("{:?}", trial.program));
        if self.inner.images.versions().get(&key).is_some_and(Option::is_some) {
            return Ok(None);
        }
        let tried = self.tried_in(&image, trial).await?;
        self.inner.images.versions().insert(key, tried.clone().ok());
        Ok(tried.err())
    }

    /// What a command in an image prints. The inner error is how it failed.
    async fn tried_in(
        &self,
        image: &UsedImage,
        trial: RootTrial,
    ) -> Result<Result<String, String>, EffectError> {
        let place = self.inner.images.folder.join(uuid::Uuid::new_v4().simple().to_string());
        let tried = async {
            let mut job = self.job_in(image, &place, trial)?;
            job.timeout = LONGEST_ANSWER;
            let mut said = CollectedOutput::default();
            let ended = match self.inner.sandbox.run(job, &mut said).await {
                Ok(ended) => ended,
                Err(SandboxError::NotStarted { said, .. }) => return Ok(Err(said)),
                Err(other) => return Err(other.into()),
            };
            // Java prints its version on standard error.
            let said = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).trim().to_owned();
            Ok(match ended.exit {
                Exit::Code(0) => Ok(said),
                exit @ (Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut) => Err(format!("{exit}: {said}")),
            })
        };
        let tried = tried.await;
        remove(&place).await?;
        tried
    }

    /// A short job without network in an image, with a home and nothing of a repository.
    pub(super) fn job_in(
        &self,
        image: &UsedImage,
        place: &Path,
        RootTrial { program, owner }: RootTrial,
    ) -> Result<Job, EffectError> {
        let home = place.join(HOME);
        std::fs::create_dir_all(&home).map_err(disk("make a folder"))?;
        let folder = LayeredFolder::make(&place.join(ROOT), &[image.root().to_owned()], LayerMethod::Overlay)
            .map_err(disk("make a folder of layers"))?;
        let root = PlaceRoot { folder, of: image.facts() }.job_root(owner);
        Ok(Job { root, ..short_job(program, &home, &home, Vec::new()) })
    }
}

fn reference(name: &str) -> Result<ImageReference, PlanFault> {
    name.parse().map_err(|error: journeyman_image::InvalidImageReference| {
        problem(name, Some(error.to_string()), CHANGE)
    })
}

/// The fix for most image problems.
const CHANGE: &str =
    "Change `image` in .github/journeyman.yml, or where else it stands, on the default branch.";

fn problem(name: &str, line: Option<String>, remedy: &str) -> PlanFault {
    let what = format!("The image `{name}` cannot be used");
    PlanFault::Problem(EnvironmentProblem { what, line, remedy: remedy.to_owned() })
}

/// Temporary faults are retried. The rest needs a person.
fn fault(name: &str, error: &ImageError) -> PlanFault {
    match error.fault() {
        ImageFault::Temporary | ImageFault::Machine => PlanFault::Trouble(soon(error.to_string())),
        ImageFault::Settings | ImageFault::Image => problem(name, Some(error.to_string()), CHANGE),
    }
}
