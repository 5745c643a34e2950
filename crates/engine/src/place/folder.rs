//! A writable folder for one run, on top of read-only layers. The layers are copied if the system cannot mount them.
//!
//! The process that ran in it is untrusted: the code follows no links and opens nothing that could block.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink,
};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat};

use journeyman_order::bounds::{LARGEST_SOURCE, LONGEST_PATH, MOST_ENTRIES};
use journeyman_sandbox::LayerStack;
use journeyman_workspace::{SourceContent, SourceTree};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LayerMethod {
    Overlay,
    Copy,
}

/// Marks a folder of an upper layer as opaque: lower layers do not show below it.
const OPAQUE: &str = "user.overlay.opaque";

/// Inode and change time of the file at each written path. A sandboxed process cannot set the change time.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteMarks(BTreeMap<PathBuf, (u64, i64, i64)>);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LayeredFolder {
    pub(crate) at: PathBuf,
    /// Read-only layers, topmost first.
    pub(crate) lower: Vec<PathBuf>,
    pub(crate) method: LayerMethod,
    /// Paths that we laid here from outside; they are in the written layer from the start.
    #[serde(skip)]
    laid: BTreeSet<PathBuf>,
}

impl LayeredFolder {
    pub(crate) fn make(at: &Path, lower: &[PathBuf], method: LayerMethod) -> io::Result<Self> {
        let made = Self::existing(at, lower, method);
        fs::create_dir_all(at)?;
        match made.method {
            LayerMethod::Overlay => {
                fs::create_dir_all(made.upper())?;
                fs::create_dir_all(made.work())?;
            }
            // A copied layer already contains the layers below it.
            LayerMethod::Copy => lower.first().map_or(Ok(()), |layer| copy(layer, at))?,
        }
        Ok(made)
    }

    pub(crate) fn existing(at: &Path, lower: &[PathBuf], method: LayerMethod) -> Self {
        // Without lower layers it is an ordinary folder.
        let method = if lower.is_empty() { LayerMethod::Copy } else { method };
        Self { at: at.to_owned(), lower: lower.to_vec(), method, laid: BTreeSet::new() }
    }

    pub(crate) fn stack(&self) -> Option<LayerStack> {
        match self.method {
            LayerMethod::Overlay => Some(LayerStack {
                at: self.at.clone(),
                lower: self.lower.clone(),
                upper: self.upper(),
                work: self.work(),
            }),
            LayerMethod::Copy => None,
        }
    }

    /// The folder with everything written. With copied layers it also contains the lower content.
    pub(crate) fn written(&self) -> PathBuf {
        match self.method {
            LayerMethod::Overlay => self.upper(),
            LayerMethod::Copy => self.at.clone(),
        }
    }

    /// The written part of a folder that may have layers.
    pub(crate) fn written_before(at: &Path) -> PathBuf {
        let upper = beside(at, "upper");
        if upper.is_dir() { upper } else { at.to_owned() }
    }

    fn upper(&self) -> PathBuf {
        beside(&self.at, "upper")
    }

    fn work(&self) -> PathBuf {
        beside(&self.at, "work")
    }

    /// Writes a file that only its owner can read.
    pub(crate) fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        write(&self.cleared(path)?, bytes, 0o600)
    }

    pub(crate) fn lay(&mut self, paths: &[PathBuf], source: &SourceTree) -> io::Result<()> {
        // One at a time: together they may not fit in memory.
        let each = source.each_content(paths, |path, content| {
            let place = self.cleared(path)?;
            match content {
                Some(SourceContent::File { bytes, is_executable }) => {
                    write(&place, &bytes, if is_executable { 0o755 } else { 0o644 })?;
                }
                Some(SourceContent::Large(content)) => content.write(&place).map_err(io::Error::other)?,
                Some(SourceContent::Link(target)) => symlink(target, &place)?,
                None => self.hide(path, &place)?,
            }
            self.laid.insert(path.to_owned());
            Ok(())
        });
        each.map_err(io::Error::other)?
    }

    fn cleared(&self, path: &Path) -> io::Result<PathBuf> {
        let mut place = self.written();
        let mut parts = path.components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else {
                return Err(io::Error::other(format!("{path:?} leads out of the checkout")));
            };
            place.push(name);
            let is_last = parts.peek().is_none();
            match fs::symlink_metadata(&place) {
                Ok(found) if found.is_dir() && !is_last => {}
                Ok(found) if found.is_dir() => remove_whatever(&place)?,
                // A file or link blocks a needed folder, so a folder replaces it. A whiteout means that the folder
                // below was removed, so what is below it must stay hidden.
                Ok(found) => {
                    fs::remove_file(&place)?;
                    if !is_last {
                        fs::create_dir(&place)?;
                        if found.file_type().is_char_device() {
                            rustix::fs::setxattr(&place, OPAQUE, b"y", XattrFlags::empty())?;
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if !is_last {
                        fs::create_dir(&place)?;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        if place == self.written() {
            return Err(io::Error::other("an empty path leads to no file of the checkout"));
        }
        Ok(place)
    }

    fn is_below(&self, path: &Path) -> bool {
        self.lower.iter().any(|layer| fs::symlink_metadata(layer.join(path)).is_ok())
    }

    fn hide(&self, path: &Path, place: &Path) -> io::Result<()> {
        if self.method == LayerMethod::Overlay && self.is_below(path) {
            mknodat(CWD, place, FileType::CharacterDevice, Mode::empty(), 0)?;
        }
        Ok(())
    }

    pub(crate) fn remove(&self) -> Result<(), journeyman_workspace::GitError> {
        [self.at.clone(), self.upper(), self.work()]
            .iter()
            .try_for_each(|place| journeyman_workspace::remove_all(place))
    }

    /// Deletes what was written at these paths, so the lower layers show again.
    pub(crate) fn clear(&self, paths: &[PathBuf]) -> io::Result<()> {
        paths.iter().try_for_each(|path| remove_whatever(&self.written().join(path)))
    }

    /// Hides the lower layers' content at these paths.
    pub(crate) fn hide_all(&self, paths: &[PathBuf]) -> io::Result<()> {
        paths.iter().filter(|path| self.is_below(path)).try_for_each(|path| {
            let place = self.cleared(path)?;
            self.hide(path, &place)
        })
    }

    /// The paths of the source whose content here differs now.
    pub(crate) fn differing(&self, source: &SourceTree) -> io::Result<Vec<PathBuf>> {
        let written = self.written();
        let (mut folders, mut changed, mut places) = (HashMap::new(), Vec::new(), Vec::new());
        for path in source.paths() {
            match seen(&written, path, &mut folders) {
                WrittenState::Here => places.push((path.to_owned(), written.join(path))),
                WrittenState::Hidden => changed.push(path.to_owned()),
                WrittenState::NotWritten => {
                    // It was here from the start, or no lower layer has it. So it was removed.
                    if self.method == LayerMethod::Copy || self.laid.contains(path) {
                        changed.push(path.to_owned());
                    }
                }
            }
        }
        changed.extend(source.differing(&places).map_err(io::Error::other)?);
        changed.sort();
        Ok(changed)
    }

    /// Marks the source's files in the written layer, so that [`Self::touched`] can detect later changes.
    pub(crate) fn marks(&self, source: &SourceTree) -> WriteMarks {
        let (written, mut folders) = (self.written(), HashMap::new());
        let here = source.paths().filter(|path| seen(&written, path, &mut folders) == WrittenState::Here);
        WriteMarks(here.filter_map(|path| Some((path.to_owned(), mark(&written.join(path))?))).collect())
    }

    /// The source's paths written, replaced or removed since, even if the content is the same again.
    pub(crate) fn touched(&self, source: &SourceTree, since: &WriteMarks) -> io::Result<Vec<PathBuf>> {
        let (written, mut folders) = (self.written(), HashMap::new());
        let is_touched = |path: &&Path| match seen(&written, path, &mut folders) {
            WrittenState::Here => mark(&written.join(path)).as_ref() != since.0.get(*path),
            WrittenState::NotWritten | WrittenState::Hidden => false,
        };
        let mut touched: BTreeSet<PathBuf> = source.paths().filter(is_touched).map(Path::to_owned).collect();
        touched.extend(self.differing(source)?);
        Ok(touched.into_iter().collect())
    }

    pub(crate) fn read(&self, path: &str) -> Option<Vec<u8>> {
        let path = Some(Path::new(path)).filter(|path| path.as_os_str().len() <= LONGEST_PATH)?;
        let mut folders = HashMap::new();
        for layer in std::iter::once(self.written()).chain(self.lower.iter().cloned()) {
            match seen(&layer, path, &mut folders) {
                WrittenState::Hidden => return None,
                WrittenState::NotWritten => folders.clear(),
                WrittenState::Here => {
                    let place = layer.join(path);
                    let found = fs::symlink_metadata(&place).ok()?;
                    let is_read = found.is_file() && found.len() <= LARGEST_SOURCE as u64;
                    return is_read.then(|| fs::read(&place).ok())?;
                }
            }
        }
        None
    }

    /// Makes everything written readable for us, whatever its modes: an unreadable file cannot be shared.
    pub(crate) fn open_up(&self) -> io::Result<()> {
        let at = |path: &Path, error: &io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        };
        let mut open = vec![self.written()];
        while let Some(folder) = open.pop() {
            readable(&folder, 0o700).map_err(|error| at(&folder, &error))?;
            for entry in fs::read_dir(&folder).map_err(|error| at(&folder, &error))? {
                let entry = entry?;
                let (path, kind) = (entry.path(), entry.file_type()?);
                if kind.is_dir() {
                    open.push(path);
                } else if kind.is_file() {
                    readable(&path, 0o400).map_err(|error| at(&path, &error))?;
                }
            }
        }
        Ok(())
    }

    /// Moves a written folder to the same path below another. Does nothing if there is none.
    pub(crate) fn take_folder(&self, path: &Path, to: &Path) -> io::Result<()> {
        let (written, to) = (self.written(), to.join(path));
        let is_folder = || fs::symlink_metadata(written.join(path)).is_ok_and(|found| found.is_dir());
        if seen(&written, path, &mut HashMap::new()) != WrittenState::Here || !is_folder() {
            return Ok(());
        }
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::rename(written.join(path), to)
    }

    /// Everything written, as relative paths. Folders that `is_entered` refuses are listed but not entered.
    pub(crate) fn walk_written(&self, is_entered: &dyn Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
        let (written, mut found, mut open) = (self.written(), Vec::new(), vec![PathBuf::new()]);
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(written.join(&folder))? {
                let entry = entry?;
                if found.len() + open.len() > MOST_ENTRIES {
                    let said = format!("there are more than {MOST_ENTRIES} files or folders in it");
                    return Err(io::Error::new(io::ErrorKind::FileTooLarge, said));
                }
                let path = folder.join(entry.file_name());
                match entry.file_type()?.is_dir() {
                    true if is_entered(&path) => open.push(path),
                    true | false => found.push(path),
                }
            }
        }
        Ok(found)
    }
}

fn mark(place: &Path) -> Option<(u64, i64, i64)> {
    let found = fs::symlink_metadata(place).ok()?;
    Some((found.ino(), found.ctime(), found.ctime_nsec()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WrittenState {
    Here,
    /// Nothing here: the lower layers show.
    NotWritten,
    Hidden,
}

/// `folders` caches the state of folders.
fn seen(layer: &Path, path: &Path, folders: &mut HashMap<PathBuf, WrittenState>) -> WrittenState {
    let Some(parent) = path.parent() else { return WrittenState::Here };
    let above = match folders.get(parent) {
        Some(known) => *known,
        None => {
            let mut state = seen(layer, parent, folders);
            if state == WrittenState::Here {
                state = state_in(layer, parent, fs::Metadata::is_dir);
            }
            folders.insert(parent.to_owned(), state);
            state
        }
    };
    match above == WrittenState::Here {
        true => state_in(layer, path, |found| !found.file_type().is_char_device()),
        false => above,
    }
}

/// The state of a path whose folder is here. A path missing from an opaque folder is hidden.
fn state_in(layer: &Path, path: &Path, is_here: fn(&fs::Metadata) -> bool) -> WrittenState {
    if let Ok(found) = fs::symlink_metadata(layer.join(path)) {
        return if is_here(&found) { WrittenState::Here } else { WrittenState::Hidden };
    }
    let is_opaque = |folder: &Path| {
        let mut value = [0; 1];
        rustix::fs::lgetxattr(layer.join(folder), OPAQUE, &mut value)
            .is_ok_and(|length| length == 1 && value == *b"y")
    };
    match path.ancestors().skip(1).any(is_opaque) {
        true => WrittenState::Hidden,
        false => WrittenState::NotWritten,
    }
}

/// Adds these mode bits to a folder or file that its owner cannot read.
fn readable(path: &Path, besides: u32) -> io::Result<()> {
    let mode = fs::symlink_metadata(path)?.permissions().mode();
    // Reading a folder also needs permission to enter it.
    let least = besides & 0o500;
    if mode & least == least {
        Ok(())
    } else {
        fs::set_permissions(path, fs::Permissions::from_mode(mode | besides))
    }
}

fn beside(at: &Path, what: &str) -> PathBuf {
    let mut name = at.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(what);
    at.with_file_name(name)
}

/// Replaces a folder with a copy of a layer, keeping the modes and times that tools rely on.
fn copy(layer: &Path, at: &Path) -> io::Result<()> {
    remove_whatever(at)?;
    let ended = Command::new("cp").args(["-aT", "--"]).args([layer, at]).stdin(Stdio::null()).output()?;
    if !ended.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&ended.stderr).trim().to_owned()));
    }
    // The layer's own mode may deny access.
    fs::set_permissions(at, fs::Permissions::from_mode(0o755))
}

fn remove_whatever(path: &Path) -> io::Result<()> {
    journeyman_workspace::remove_all(path).map_err(io::Error::other)
}

fn write(place: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(mode).open(place)?.write_all(bytes)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use journeyman_workspace::Workspaces;

    /// A commit with these files, and the files that a checkout of it must contain.
    pub(crate) fn source(place: &Path, files: &[(&str, &str)]) -> (SourceTree, PathBuf) {
        let repository = place.join("repository");
        for (path, text) in files {
            let path = repository.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink("same", repository.join("link")).unwrap();
        let git = |arguments: &[&str]| {
            let identity =
                ["-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgSign=false"];
            let ran =
                Command::new("git").args(identity).args(arguments).current_dir(&repository).output().unwrap();
            assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
            String::from_utf8(ran.stdout).unwrap().trim().to_owned()
        };
        git(&["init", "-q"]);
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", "Files"]);
        let (name, commit) = ("ada/sample".parse().unwrap(), git(&["rev-parse", "HEAD"]).parse().unwrap());
        let workspaces = Workspaces::new(&place.join("data")).unwrap();
        workspaces.import_local(&name, &repository).unwrap();
        let checkout = place.join("checkout");
        workspaces.checkout(&name, &commit, &checkout).unwrap();
        (workspaces.source_tree(&name, &commit).unwrap(), checkout)
    }

    fn named(paths: Vec<PathBuf>) -> Vec<String> {
        paths.into_iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn what_was_changed_meanwhile_is_named_and_put_back() {
        let files = [
            ("same", "s"),
            ("edited", "e"),
            ("gone", "g"),
            ("src/linked", "l"),
            ("swapped", "w"),
            ("old/a", "a"),
        ];
        for method in [LayerMethod::Copy, LayerMethod::Overlay] {
            let place = tempfile::tempdir().unwrap();
            let (source, checkout) = source(place.path(), &files);
            let outside = place.path().join("outside");
            fs::create_dir(&outside).unwrap();
            fs::write(outside.join("kept"), "kept").unwrap();
            let mut folder =
                LayeredFolder::make(&place.path().join("run/work"), &[checkout], method).unwrap();
            assert_eq!(named(folder.differing(&source).unwrap()), Vec::<String>::new(), "{method:?}");

            // As a job leaves it: in an upper layer a removed file is a whiteout, and a recreated folder is opaque.
            let written = folder.written();
            let remove = |path: &str| match method {
                LayerMethod::Copy if written.join(path).is_dir() => {
                    fs::remove_dir_all(written.join(path)).unwrap()
                }
                LayerMethod::Copy => fs::remove_file(written.join(path)).unwrap(),
                LayerMethod::Overlay => {
                    let none = FileType::CharacterDevice;
                    mknodat(CWD, written.join(path), none, Mode::empty(), 0).unwrap();
                }
            };
            fs::write(written.join("edited"), "other").unwrap();
            fs::write(written.join("new"), "untracked").unwrap();
            remove("gone");
            if method == LayerMethod::Copy {
                remove("src");
                remove("swapped");
                remove("link");
                remove("old");
            }
            symlink(&outside, written.join("src")).unwrap();
            symlink(outside.join("kept"), written.join("swapped")).unwrap();
            fs::write(written.join("link"), "a file").unwrap();
            fs::create_dir(written.join("old")).unwrap();
            if method == LayerMethod::Overlay {
                rustix::fs::setxattr(written.join("old"), OPAQUE, b"y", XattrFlags::empty()).unwrap();
            }
            let changed = folder.differing(&source).unwrap();
            let all = ["edited", "gone", "link", "old/a", "src/linked", "swapped"];
            assert_eq!(named(changed.clone()), all, "{method:?}");

            folder.lay(&changed, &source).unwrap();
            assert_eq!(named(folder.differing(&source).unwrap()), Vec::<String>::new(), "{method:?}");
            assert_eq!(fs::read(outside.join("kept")).unwrap(), b"kept");
            assert!(!outside.join("linked").exists(), "nothing is written through a link");
            assert_eq!(folder.read("edited").as_deref(), Some(b"e".as_slice()));
            assert_eq!(folder.read("link"), None, "a link is not what it leads to");
        }
    }

    #[test]
    fn what_was_written_and_put_back_is_named_too() {
        for method in [LayerMethod::Copy, LayerMethod::Overlay] {
            let place = tempfile::tempdir().unwrap();
            let files = ["read", "edited", "replaced", "laid", "kept"].map(|path| (path, "as it was"));
            let (source, checkout) = source(place.path(), &files);
            let mut folder =
                LayeredFolder::make(&place.path().join("run/work"), &[checkout], method).unwrap();
            folder.lay(&["laid".into(), "kept".into()], &source).unwrap();
            let marks = folder.marks(&source);
            assert_eq!(named(folder.touched(&source, &marks).unwrap()), Vec::<String>::new(), "{method:?}");

            // As a job does it: opening a lower file for writing first copies it to the upper layer.
            let written = folder.written();
            let put_back = |path: &str| {
                fs::write(written.join(path), "another").unwrap();
                fs::write(written.join(path), "as it was").unwrap();
                let long_ago = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
                fs::File::options()
                    .append(true)
                    .open(written.join(path))
                    .unwrap()
                    .set_times(long_ago)
                    .unwrap();
            };
            put_back("edited");
            put_back("laid");
            fs::write(written.join("aside"), "as it was").unwrap();
            fs::rename(written.join("aside"), written.join("replaced")).unwrap();
            fs::write(written.join("new"), "untracked").unwrap();

            assert_eq!(named(folder.differing(&source).unwrap()), Vec::<String>::new(), "{method:?}");
            let touched = named(folder.touched(&source, &marks).unwrap());
            assert_eq!(touched, ["edited", "laid", "replaced"], "{method:?}");
        }
    }

    #[test]
    fn nothing_is_laid_outside_of_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let (mut source, checkout) = source(place.path(), &[("same", "s")]);
        let mut folder =
            LayeredFolder::make(&place.path().join("run/work"), &[checkout], LayerMethod::Overlay).unwrap();
        for path in ["../x", "/etc/x", "", "a/../../x"] {
            source.lay(Path::new(path), Some(b"x")).unwrap();
            assert!(folder.lay(&[PathBuf::from(path)], &source).is_err(), "{path:?}");
        }
        assert!(!place.path().join("run/x").exists() && !place.path().join("x").exists());
    }

    #[test]
    fn a_copy_keeps_modes_times_links_and_names_of_one_file_and_replaces_what_was_there() {
        let place = tempfile::tempdir().unwrap();
        let [layer, at] = ["layer", "at"].map(|name| place.path().join(name));
        fs::create_dir_all(layer.join("cache")).unwrap();
        fs::write(layer.join("cache/one"), "1").unwrap();
        fs::hard_link(layer.join("cache/one"), layer.join("other")).unwrap();
        symlink("/nowhere", layer.join("link")).unwrap();
        fs::File::open(layer.join("cache/one")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        for closed in ["cache", ""] {
            fs::set_permissions(layer.join(closed), fs::Permissions::from_mode(0o555)).unwrap();
        }
        fs::create_dir_all(at.join("before")).unwrap();

        LayeredFolder::make(&at, std::slice::from_ref(&layer), LayerMethod::Copy).unwrap();

        let found = |path: &str| fs::symlink_metadata(at.join(path)).unwrap();
        assert_eq!(["cache", ""].map(|path| found(path).mode() & 0o7777), [0o555, 0o755]);
        assert_eq!(found("cache/one").modified().unwrap(), std::time::UNIX_EPOCH);
        assert_eq!(found("cache/one").ino(), found("other").ino());
        assert!(found("link").is_symlink() && !at.join("before").exists());
        fs::write(at.join("new"), "").unwrap();
        [layer, at].iter().for_each(|folder| journeyman_workspace::remove_all(folder).unwrap());
    }

    #[test]
    fn what_was_left_closed_can_be_kept_and_what_can_be_read_stays_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let folder = LayeredFolder::make(&place.path().join("work"), &[], LayerMethod::Copy).unwrap();
        fs::create_dir_all(folder.written().join("closed/deep")).unwrap();
        fs::create_dir_all(folder.written().join("cache")).unwrap();
        fs::write(folder.written().join("closed/deep/secret"), "").unwrap();
        symlink("/nowhere", folder.written().join("cache/link")).unwrap();
        let modes =
            [("closed/deep/secret", 0o000), ("closed/deep", 0o000), ("closed", 0o100), ("cache", 0o555)];
        for (path, mode) in modes {
            fs::set_permissions(folder.written().join(path), fs::Permissions::from_mode(mode)).unwrap();
        }

        folder.open_up().unwrap();

        let mode = |path: &str| {
            fs::symlink_metadata(folder.written().join(path)).unwrap().permissions().mode() & 0o7777
        };
        assert_eq!(modes.map(|(path, _)| mode(path)), [0o400, 0o700, 0o700, 0o555]);
    }
}
