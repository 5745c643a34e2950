//! The machine's settings files among its programs that may contain passwords: a job sees them without those.
//!
//! May know: the paths of such files below `/usr`. Must never know: how anything is mounted.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::toolchains;
use journeyman_order::bounds::LARGEST_SOURCE;

/// System-wide settings of npm, git, pip and Cargo beside their programs. Below `/etc`, only PHP's settings are
/// mounted.
const FILES: [&str; 9] = [
    "/usr/etc/npmrc",
    "/usr/local/etc/npmrc",
    "/usr/etc/gitconfig",
    "/usr/local/etc/gitconfig",
    "/usr/pip.conf",
    "/usr/local/pip.conf",
    "/usr/local/cargo/config.toml",
    "/usr/local/cargo/credentials",
    "/usr/local/cargo/credentials.toml",
];
/// Folders that may contain a Maven installation with its global settings.
const MAVENS: [&str; 4] = ["/usr/local", "/usr/local/share", "/usr/share", "/usr/lib"];
const OF_MAVEN: &str = "conf/settings.xml";
/// Replaces Maven's settings if they contain credentials, because XML with missing lines is invalid.
const NO_SETTINGS: &[u8] = b"<settings/>\n";
/// Words in lines with credentials.
const WORDS: [&str; 11] = [
    "_auth", "authorization", "default_pw", "license", "passphrase", "passw", "private key", "privatekey",
    "secret", "token", "username",
];

/// The files on this machine.
pub(super) fn of_this_machine() -> Vec<PathBuf> {
    let mavens = MAVENS.iter().flat_map(|folder| mavens_in(Path::new(folder)));
    let php = toolchains::of_php(Path::new("/etc")).into_iter().flat_map(|path| ini_files(&path));
    let all: BTreeSet<PathBuf> = FILES.iter().map(PathBuf::from).chain(mavens).chain(php).collect();
    all.into_iter().collect()
}

/// PHP's settings file, or all in a folder, as real paths.
fn ini_files(path: &Path) -> Vec<PathBuf> {
    match std::fs::read_dir(path) {
        Ok(entries) => {
            let paths = entries.flatten().map(|entry| entry.path());
            paths
                .filter(|path| path.extension().is_some_and(|end| end == "ini"))
                .filter_map(|path| path.canonicalize().ok())
                .collect()
        }
        Err(_) => path.canonicalize().into_iter().collect(),
    }
}

/// Real paths of Maven's settings, because nothing can be mounted over a link.
fn mavens_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mavens = entries.filter(|entry| entry.file_name().to_string_lossy().contains("maven"));
    mavens.filter_map(|entry| entry.path().join(OF_MAVEN).canonicalize().ok())
}

/// The files that contain such lines, with the remaining content.
pub(super) fn without_credentials(files: &[PathBuf]) -> impl Iterator<Item = (&Path, Vec<u8>)> {
    files.iter().filter_map(|path| {
        let is_file = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
        let file = if is_file { File::open(path).ok()? } else { return None };
        let mut text = Vec::new();
        file.take(LARGEST_SOURCE as u64 + 1).read_to_end(&mut text).ok()?;
        let rest = if text.len() > LARGEST_SOURCE { Vec::new() } else { harmless_lines(&text) };
        let is_cut_xml = rest != text && path.ends_with("settings.xml");
        let rest = if is_cut_xml { NO_SETTINGS.to_vec() } else { rest };
        (rest != text).then_some((path.as_path(), rest))
    })
}

fn harmless_lines(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines
        .filter(|line| !tells_who(&String::from_utf8_lossy(line).to_lowercase()))
        .flatten()
        .copied()
        .collect()
}

fn tells_who(line: &str) -> bool {
    // PHP's extension `tokenizer` is not a credential.
    if line.starts_with("extension=") || line.starts_with("zend_extension=") {
        return false;
    }
    let has_user = |address: &str| address.split(['/', ' ']).next().is_some_and(|host| host.contains('@'));
    WORDS.iter().any(|word| line.contains(word)) || line.split("://").skip(1).any(has_user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_tell_who_somebody_is_are_left_out_and_files_without_any_are_as_they_are() {
        let place = tempfile::tempdir().unwrap();
        let files: Vec<PathBuf> = [
            ("npmrc", "registry=https://npm.example/\n//npm.example/:_authToken=abc\ncafile=/usr/ca.pem\n"),
            ("gitconfig", "[http]\n\textraHeader = Authorization: Basic abc\n[url \"https://x:abc@git.example/\"]\n[a]\n\tb = 1"),
            ("pip.conf", "[global]\nindex-url = https://user:abc@pypi.example/simple\ntimeout = 60\n"),
            ("plain", "cafile=/usr/ca.pem\n# mail: somebody@example.org\n"),
            ("tokenizer.ini", "; configuration for php common module\nextension=tokenizer.so\n"),
        ]
        .into_iter()
        .map(|(name, text)| {
            let path = place.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        })
        .collect();
        let left: Vec<(String, String)> = without_credentials(&files)
            .map(|(path, rest)| {
                (path.file_name().unwrap().to_str().unwrap().to_owned(), String::from_utf8(rest).unwrap())
            })
            .collect();
        let wanted = [
            ("npmrc", "registry=https://npm.example/\ncafile=/usr/ca.pem\n"),
            ("gitconfig", "[http]\n[a]\n\tb = 1"),
            ("pip.conf", "[global]\ntimeout = 60\n"),
        ];
        assert_eq!(left, wanted.map(|(name, rest)| (name.to_owned(), rest.to_owned())));
        let maven = place.path().join("share/maven-3.9/conf");
        std::fs::create_dir_all(&maven).unwrap();
        let plain = "<settings><offline/></settings>";
        for (text, wanted) in [
            (plain, None),
            (
                "<settings><servers><server>\n<passphrase>abc</passphrase>\n</server></servers></settings>",
                Some(NO_SETTINGS),
            ),
            ("<settings><server><privateKey>abc</privateKey></server></settings>", Some(NO_SETTINGS)),
        ] {
            std::fs::write(maven.join("settings.xml"), text).unwrap();
            let found: Vec<PathBuf> = mavens_in(&place.path().join("share")).collect();
            assert_eq!(found, [maven.canonicalize().unwrap().join("settings.xml")]);
            let left = without_credentials(&found).next().map(|(_, rest)| rest);
            assert_eq!(left.as_deref(), wanted, "{text}");
        }

        let large = place.path().join("large");
        std::fs::write(&large, vec![b'x'; 2 << 20]).unwrap();
        assert_eq!(
            without_credentials(&[large]).map(|(_, rest)| rest).collect::<Vec<_>>(),
            [Vec::<u8>::new()]
        );
    }
}
