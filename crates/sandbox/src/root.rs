//! A job's own root: it sees an unpacked image with a writable layer as `/`, instead of the system's programs.
//!
//! May know: layers, and mount points in a root. Must never know: images, registries.
//!
//! The image is hostile: its links at our mount points may lead anywhere. So our own files and folders in the top layer
//! serve as mount points and hide whatever the image has there.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use uuid::Uuid;

use super::LayerStack;
use super::readable_paths::OwnEnvironment;

/// Where the host's programs appear in a job's own root.
pub(super) const HOST_PROGRAMS: &str = "/run/journeyman";

/// What a job sees as `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRoot {
    /// The read-only root, and the layer for the job's writes.
    pub layers: LayerStack,
    /// Its program folders.
    pub search: Vec<PathBuf>,
    /// Its variables; those of the job override them.
    pub variables: BTreeMap<String, String>,
    /// The owner of the job's program.
    pub program: ProgramOwner,
}

/// The owner of the program that runs in a job's own root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramOwner {
    /// It is in the root.
    Root,
    /// It belongs to the host and is mounted beside the root.
    Host,
}

/// The kind of a mount point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MountPoint {
    Folder,
    File,
}

impl JobRoot {
    /// Creates mount points in the job's writable layer. No job may be running there.
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

/// Creates one without following links; an earlier job's obstacle is removed.
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
            // Move it out of the layer; it is deleted with the job's folders.
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
