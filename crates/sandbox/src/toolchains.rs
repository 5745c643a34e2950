//! Finds this machine's compilers and interpreters outside the system's folders.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Toolchain homes that shims need: the variable that names the home, its default below the user's home, and the part
/// to mount. Cargo's home is missing on purpose: it contains credentials, and a job has its own.
const HOMES: [(&str, &str, &str); 9] = [
    ("RUSTUP_HOME", ".rustup", ""),
    ("PYENV_ROOT", ".pyenv", ""),
    ("RBENV_ROOT", ".rbenv", ""),
    ("NVM_DIR", ".nvm", "versions"),
    ("VOLTA_HOME", ".volta", ""),
    ("ASDF_DATA_DIR", ".asdf", ""),
    ("MISE_DATA_DIR", ".local/share/mise", ""),
    ("GOROOT", "", ""),
    ("JAVA_HOME", "", ""),
];

/// What PHP needs to find its extensions, in its folder or a version's. Not its servers' files, which may contain a
/// pool's variables.
const OF_PHP: [&str; 6] = ["php.ini", "php-cli.ini", "conf.d", "mods-available", "cli", "cgi"];

/// Folders shared by unrelated programs, never mounted as a whole.
const WIDE: [&str; 17] = [
    "/", "/home", "/root", "/tmp", "/var", "/var/tmp", "/var/lib", "/etc", "/proc", "/dev", "/sys", "/run",
    "/mnt", "/srv", "/opt", "/media", "/boot",
];

/// Entries beside a `bin` that belong to its programs.
const BESIDE: [&str; 7] = ["bin", "lib", "lib64", "libexec", "include", "share", "pyvenv.cfg"];

/// The toolchains found.
#[derive(Debug, Default)]
pub(super) struct Toolchains {
    pub(super) shown: Vec<PathBuf>,
    pub(super) search: Vec<PathBuf>,
    pub(super) variables: Vec<(String, OsString)>,
}

/// Searches the PATH and the toolchain homes named in the environment.
pub(super) fn find(variable: &dyn Fn(&str) -> Option<OsString>) -> Toolchains {
    let mut found = Toolchains::default();
    let home = variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    for (name, usual, part) in HOMES {
        let named = variable(name).map(PathBuf::from);
        let usual = home.as_ref().filter(|_| !usual.is_empty()).map(|home| home.join(usual));
        let Some(place) = named.or(usual).filter(|place| place.is_absolute()) else { continue };
        let shown = if part.is_empty() { place.clone() } else { place.join(part) };
        if shown.is_dir() && !is_wide(&shown, home.as_deref()) {
            found.shown.push(shown);
            found.variables.push((name.to_owned(), place.into()));
        }
    }
    let path = variable("PATH").unwrap_or_default();
    let always = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    for folder in std::env::split_paths(&path).chain(always) {
        let usable = folder.is_absolute() && folder.is_dir() && !is_wide(&folder, home.as_deref());
        if !usable || found.search.contains(&folder) {
            continue;
        }
        let real = folder.canonicalize().ok().filter(|real| *real != folder);
        for bin in real.iter().chain([&folder]) {
            found.shown.extend(with_what_belongs(bin, home.as_deref()));
        }
        found.search.push(folder);
    }
    found
}

/// A folder of programs and, if it is a `bin`, known entries beside it. Never the parent folder as a whole, which may
/// contain anything.
pub(super) fn with_what_belongs(bin: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut shown = vec![bin.to_owned()];
    if let Some(prefix) = bin.parent().filter(|prefix| bin.ends_with("bin") && !is_wide(prefix, home)) {
        // `~/.local/share` contains keyrings and mail, besides what `~/.local/bin` needs.
        let personal = home.is_some_and(|home| prefix == home.join(".local"));
        let beside = BESIDE.iter().filter(|name| !(personal && **name == "share"));
        shown.extend(beside.map(|name| prefix.join(name)).filter(|path| path.exists()));
    }
    shown
}

/// Whether a folder contains unrelated data of a user or the machine.
pub(super) fn is_wide(folder: &Path, home: Option<&Path>) -> bool {
    let holds_home = home.is_some_and(|home| home.starts_with(folder));
    let is_etc = folder.starts_with("/etc") || folder.starts_with("/proc");
    holds_home || is_etc || WIDE.iter().any(|wide| Path::new(wide) == folder)
}

/// A folder's entries with their names.
pub(super) fn entries(folder: &Path) -> impl Iterator<Item = (PathBuf, String)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned()))
}

/// The settings of each PHP: `php/8.2/cli` on Debian, `php.ini` and `php.d` on Fedora, `php83/conf.d` on Alpine.
pub(super) fn of_php(etc: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (path, name) in entries(etc).filter(|(_, name)| name.starts_with("php")) {
        if matches!(name.as_str(), "php.ini" | "php.d") {
            found.push(path);
            continue;
        }
        let is_version = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
        let versions = entries(&path).filter(|(_, name)| is_version(name)).map(|(version, _)| version);
        let folders: Vec<PathBuf> = versions.chain([path.clone()]).collect();
        found.extend(folders.iter().flat_map(|folder| OF_PHP.map(|name| folder.join(name))));
    }
    found.retain(|path| path.exists());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(home: &Path, path: &str) -> Toolchains {
        let (home, path) = (home.to_owned(), path.replace('~', &home.display().to_string()));
        find(&move |name| match name {
            "HOME" => Some(home.clone().into()),
            "PATH" => Some(path.clone().into()),
            _ => None,
        })
    }

    #[test]
    fn a_folder_on_the_path_brings_its_libraries_but_not_its_neighbours() {
        let home = tempfile::tempdir().unwrap();
        for folder in
            ["node/bin", "node/lib", "node/secrets", "bin", ".cargo/bin", ".cargo/registry", ".rustup"]
        {
            std::fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        let found = machine(home.path(), "~/node/bin:~/bin:~/.cargo/bin:.:~/gone:~:/");
        let shown = |name: &str| found.shown.contains(&home.path().join(name));
        assert!(
            shown("node/bin") && shown("node/lib") && shown("bin") && shown(".cargo/bin") && shown(".rustup")
        );
        assert!(!shown("node") && !shown("node/secrets") && !shown(".cargo") && !shown(".cargo/registry"));
        assert!(!shown(""), "the home itself");
        assert!(!found.search.contains(&home.path().to_owned()) && !found.search.contains(&"/".into()));
        assert!(found.search.iter().all(|folder| folder.is_absolute()), "{:?}", found.search);
        let names: Vec<_> = found.variables.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["RUSTUP_HOME"]);
    }

    #[test]
    fn the_share_of_a_user_is_not_that_of_a_program() {
        let home = tempfile::tempdir().unwrap();
        for folder in [".local/bin", ".local/lib", ".local/share/keyrings"] {
            std::fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        let found = machine(home.path(), "~/.local/bin");
        assert!(found.shown.contains(&home.path().join(".local/lib")));
        assert!(!found.shown.contains(&home.path().join(".local/share")));
    }

    #[test]
    fn a_php_finds_its_extensions_and_nobody_finds_what_its_servers_have() {
        let etc = tempfile::tempdir().unwrap();
        for file in [
            "php/8.2/cli/php.ini",
            "php/8.2/mods-available/iconv.ini",
            "php/8.2/fpm/pool.d/www.conf",
            "php/8.2/apache2/php.ini",
            "php83/conf.d/00_iconv.ini",
            "php83/php-fpm.d/www.conf",
            "php.d/20-iconv.ini",
            "php.ini",
            "php-fpm.conf",
        ] {
            let file = etc.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let mut found = of_php(etc.path());
        found.sort();
        let found: Vec<_> = found.iter().map(|path| path.strip_prefix(etc.path()).unwrap()).collect();
        let shown = ["php/8.2/cli", "php/8.2/mods-available", "php.d", "php.ini", "php83/conf.d"];
        assert_eq!(found, shown.map(Path::new));
    }
}
