//! A root of a job's own: what it sees as `/` is an unpacked image with a writable layer on top, instead of the system's
//! programs.
//!
//! May know: layers, and where in a root we mount something. Must never know: images, registries.
//!
//! The image is hostile: where we mount something it may have a link that leads anywhere. What is mounted on are therefore
//! files and folders of ours in the uppermost layer, which hide whatever the image has at these paths.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use uuid::Uuid;

use super::LayerStack;
use super::readable_paths::OwnEnvironment;

/// Where the programs of the host are seen that are started in a root of their own.
pub(super) const HOST_PROGRAMS: &str = "/run/journeyman";

/// What a job sees as `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRoot {
    /// The root, read-only, and what the job writes there.
    pub layers: LayerStack,
    /// Folders of its programs.
    pub search: Vec<PathBuf>,
    /// Variables that belong to it; those of the job win over these.
    pub variables: BTreeMap<String, String>,
    /// Whose program the job's is.
    pub program: ProgramOwner,
}

/// Whose the program of a job is that has a root of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramOwner {
    /// It lies in the root.
    Root,
    /// It is one of the host's, and is shown beside the root.
    Host,
}

/// What something is mounted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MountPoint {
    Folder,
    File,
}

impl JobRoot {
    /// Makes what is mounted on, in the layer that the job writes. Nobody may be at work there.
    pub(super) fn make_mount_points(
        &self,
        points: impl IntoIterator<Item = (PathBuf, MountPoint)>,
    ) -> io::Result<()> {
        points.into_iter().try_for_each(|(path, point)| make(&self.layers.upper, &path, point))
    }

    pub(super) fn own_environment(&self) -> OwnEnvironment<'_> {
        let variables = self.variables.iter().map(|(name, value)| (name.as_str(), OsStr::new(value)));
        OwnEnvironment { search: &self.search, variables: variables.collect() }
    }
}

/// No link is followed: what an earlier job put in the way is taken away.
fn make(upper: &Path, path: &Path, point: MountPoint) -> io::Result<()> {
    let names: Vec<_> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            Component::RootDir | Component::CurDir | Component::ParentDir | Component::Prefix(_) => None,
        })
        .collect();
    let mut place = upper.to_owned();
    for (at, name) in names.iter().enumerate() {
        place.push(name);
        let is_file = point == MountPoint::File && at + 1 == names.len();
        match fs::symlink_metadata(&place) {
            Ok(found) if found.is_dir() != is_file && (found.is_dir() || found.is_file()) => continue,
            // Out of the layer: whoever removes the job's folders removes it too.
            Ok(found) if found.is_dir() => {
                fs::rename(&place, upper.with_extension(Uuid::new_v4().to_string()))?
            }
            Ok(_) => fs::remove_file(&place)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        match is_file {
            true => drop(File::create_new(&place)?),
            false => fs::create_dir(&place)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_are_in_the_way_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let [upper, outside] = ["upper", "outside"].map(|name| place.path().join(name));
        fs::create_dir_all(upper.join("etc/hosts")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        for (link, target) in [("tmp", "."), ("var", "."), ("etc/passwd", "kept")] {
            std::os::unix::fs::symlink(outside.join(target), upper.join(link)).unwrap();
        }
        for (path, point) in [
            ("/tmp", MountPoint::Folder),
            ("/var/tmp", MountPoint::Folder),
            ("/etc/passwd", MountPoint::File),
            ("/etc/hosts", MountPoint::File),
            ("/workspace/../../outside/new", MountPoint::Folder),
        ] {
            make(&upper, Path::new(path), point).unwrap();
        }
        let is_folder = |path: &str| fs::symlink_metadata(upper.join(path)).unwrap().is_dir();
        assert!(is_folder("tmp") && is_folder("var/tmp") && is_folder("workspace/outside/new"));
        for file in ["etc/passwd", "etc/hosts"] {
            assert!(fs::symlink_metadata(upper.join(file)).unwrap().is_file());
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "nothing was made there");
        assert_eq!(fs::read_to_string(outside.join("kept")).unwrap(), "kept");
    }
}
