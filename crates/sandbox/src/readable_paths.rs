//! What every job may read: the system's programs, this machine's toolchains, and configured paths. It is an allowlist,
//! so anything not listed stays hidden.

use std::ffi::{OsStr, OsString};
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use super::credential_files::{self, without_credentials};
use super::{SandboxError, toolchains};

/// Folders of programs and libraries. Links among them (`/bin` to `usr/bin`) are recreated as links.
const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// The parts of `/etc` that programs need to start, to display text and to trust certificates. Never files that could
/// contain a password or token: `shadow`, `gitconfig`, `npmrc`, `pip.conf`, `ssl/private` …
const ETC: [&str; 36] = [
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "ssl/certs", "ssl/cert.pem",
    "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf", "pki/tls/certs", "pki/tls/cert.pem",
    "pki/ca-trust", "crypto-policies", "localtime", "timezone", "mime.types", "os-release", "debian_version",
    "nsswitch.conf", "host.conf", "gai.conf", "protocols", "services", "fonts", "terminfo",
    // On Debian, Maven needs these to start; its settings.xml may contain passwords and stays hidden.
    "maven/m2.conf", "maven/logging", "lsb-release", "magic",
    // Needed likewise, or their packages link to them.
    "R", "dotnet", "mono", "ocamlfind.conf", "perl", "texmf", "xml",
];
/// More of `/etc`, by prefix before a version.
const ETC_BEGINNINGS: [&str; 3] = ["java-", "python3", "ImageMagick-"];

/// A folder with at most this many files is listed file by file.
const MOST_IN_SMALL: usize = 6;

/// The paths that every job sees, found once.
#[derive(Debug)]
pub(super) struct ReadablePaths {
    /// Mounted read-only at the same path. None contains another.
    shown: Vec<PathBuf>,
    /// Links to recreate: where, and to what.
    links: Vec<(PathBuf, PathBuf)>,
    /// The PATH inside.
    search: Vec<PathBuf>,
    /// Variables that toolchains need to find their files.
    variables: Vec<(String, OsString)>,
    /// Visible files that may contain a password.
    pub(super) credential_files: Vec<PathBuf>,
}

impl ReadablePaths {
    pub(super) fn of_this_machine(extra: Vec<PathBuf>) -> Result<Self, SandboxError> {
        let found = toolchains::find(&|name| std::env::var_os(name));
        let mut shown = Vec::new();
        let mut links = Vec::new();
        for folder in SYSTEM.map(PathBuf::from) {
            match std::fs::read_link(&folder) {
                Ok(target) => links.push((folder, target)),
                Err(_) if folder.exists() => shown.push(folder),
                Err(_) => {}
            }
        }
        let mut of_etc: Vec<PathBuf> = ETC.iter().map(|name| Path::new("/etc").join(name)).collect();
        for (path, name) in toolchains::entries(Path::new("/etc")) {
            if ETC_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) {
                of_etc.push(path);
            }
        }
        of_etc.extend(toolchains::of_php(Path::new("/etc")));
        shown.extend(of_etc.into_iter().filter(|path| path.exists()).flat_map(files_of_small));
        for path in extra {
            if !path.is_absolute() {
                return Err(SandboxError::BadJob(format!(
                    "{path:?}, which every job may read, is not absolute"
                )));
            }
            std::fs::metadata(&path).map_err(|source| {
                SandboxError::io(format!("see {path:?}, which every job may read"), source)
            })?;
            shown.push(path);
        }
        shown.extend(found.shown);
        let shown = outermost(shown, &links);
        let credential_files = credential_files::of_this_machine();
        Ok(Self { shown, links, search: found.search, variables: found.variables, credential_files })
    }

    /// Replacement contents for files that contain credentials now.
    pub(super) fn replaced(&self) -> impl Iterator<Item = (&Path, Vec<u8>)> {
        // Debian's Maven has its settings below /etc, where they are hidden anyway.
        without_credentials(&self.credential_files).filter(|(path, _)| self.shows(path))
    }

    /// All mounted paths, parents first.
    pub(super) fn shown(&self) -> &[PathBuf] {
        &self.shown
    }

    pub(super) fn links(&self) -> &[(PathBuf, PathBuf)] {
        &self.links
    }

    pub(super) fn search_path(&self) -> &[PathBuf] {
        &self.search
    }

    /// Whether a path is visible by default.
    pub(super) fn shows(&self, path: &Path) -> bool {
        self.shown.iter().chain(self.links.iter().map(|(at, _)| at)).any(|root| path.starts_with(root))
    }

    pub(super) fn own_environment(&self) -> OwnEnvironment<'_> {
        let variables = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_os_str()));
        OwnEnvironment { search: &self.search, variables: variables.collect() }
    }
}

/// The variables and PATH that come with the job's root or system.
pub(super) struct OwnEnvironment<'a> {
    /// Folders of programs.
    pub(super) search: &'a [PathBuf],
    pub(super) variables: Vec<(&'a str, &'a OsStr)>,
}

impl OwnEnvironment<'_> {
    /// The variables of a job before its own are added.
    pub(super) fn all(&self, home: &Path, temporary: &Path, first: &[PathBuf]) -> Vec<(String, OsString)> {
        let search = std::env::join_paths(first.iter().chain(self.search));
        let search = search.unwrap_or_else(|_| "/usr/bin:/bin".into());
        let mut all = vec![("LANG".to_owned(), "C.UTF-8".into()), ("TMPDIR".to_owned(), temporary.into())];
        all.extend(self.variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        all.extend([("PATH".to_owned(), search), ("HOME".to_owned(), home.into())]);
        all
    }
}

/// The files of a folder with a few files and nothing else: copying them is faster than a mount. Other paths are
/// returned unchanged.
fn files_of_small(path: PathBuf) -> Vec<PathBuf> {
    let is_file = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let entries = std::fs::read_dir(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match entries {
        Ok(all) if (1..=MOST_IN_SMALL).contains(&all.len()) && all.iter().all(is_file) => {
            all.iter().map(DirEntry::path).collect()
        }
        Ok(_) | Err(_) => vec![path],
    }
}

/// Sorted paths, without those inside another or behind a recreated link.
fn outermost(mut paths: Vec<PathBuf>, links: &[(PathBuf, PathBuf)]) -> Vec<PathBuf> {
    paths.sort();
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths {
        let covered = kept.iter().chain(links.iter().map(|(at, _)| at)).any(|root| path.starts_with(root));
        if !covered {
            kept.push(path);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_another_is_shown_once() {
        let paths =
            ["/usr/local/bin", "/opt/a/bin", "/usr", "/bin/x", "/opt/a/bin"].map(PathBuf::from).to_vec();
        let links = [(PathBuf::from("/bin"), PathBuf::from("usr/bin"))];
        assert_eq!(outermost(paths, &links), ["/opt/a/bin", "/usr"].map(PathBuf::from));
    }
}
