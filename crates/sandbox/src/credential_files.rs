//! Settings of the machine's that lie among its programs and may hold a password: a job sees them without it.
//!
//! May know: where programs look for such files below `/usr`. Must never know: how anything is mounted.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Settings of npm, git and pip for everybody, as they lie beside their programs, and of a Cargo that is installed for
/// everybody. Those below `/etc` are not shown at all.
pub(super) const FILES: [&str; 9] = [
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
/// Of a larger one nothing is seen.
const LARGEST: u64 = 1 << 20;
/// In lines that tell who somebody is.
const WORDS: [&str; 7] = ["_auth", "authorization", "passw", "private key", "secret", "token", "username"];

/// What is left of those that hold such lines.
pub(super) fn without_credentials(files: &[PathBuf]) -> impl Iterator<Item = (&Path, Vec<u8>)> {
    files.iter().filter_map(|path| {
        let is_file = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
        let file = if is_file { File::open(path).ok()? } else { return None };
        let mut text = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut text).ok()?;
        let rest = if text.len() as u64 > LARGEST { Vec::new() } else { harmless_lines(&text) };
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
        let large = place.path().join("large");
        std::fs::write(&large, vec![b'x'; 2 << 20]).unwrap();
        assert_eq!(
            without_credentials(&[large]).map(|(_, rest)| rest).collect::<Vec<_>>(),
            [Vec::<u8>::new()]
        );
    }
}
