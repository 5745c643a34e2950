//! Packages and programs that are themselves in the change.

use std::collections::BTreeMap;

use super::{NewDependency, quoted};

/// What archives of packages end with.
const PACKAGES: &[&str] = &[
    ".whl", ".egg", ".jar", ".war", ".aar", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst",
    ".zip", ".gem", ".nupkg", ".crate", ".deb", ".rpm", ".apk", ".phar", ".7z", ".pyz",
];

/// What compiled code ends with.
const PROGRAMS: &[&str] = &[
    ".so", ".dylib", ".dll", ".exe", ".a", ".lib", ".o", ".obj", ".class", ".pyc", ".pyo", ".pyd", ".wasm",
    ".node", ".rlib", ".beam", ".bin",
];

/// How compiled code begins: ELF, Windows, and macOS in its four ways.
const BEGINNINGS: &[&[u8]] = &[
    b"\x7fELF",
    b"MZ",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
];

/// Folders that hold what others wrote.
const VENDORED: &[&str] = &["node_modules", "vendor", "third_party", "third-party", "bower_components"];

/// A package that lies unpacked in the repository.
#[derive(Debug, Default)]
struct VendoredPackage {
    files: usize,
    was_there: bool,
}

pub(super) fn committed(changes: &[super::ChangedPair<'_>]) -> Vec<NewDependency> {
    let mut found = Vec::new();
    let mut unpacked: BTreeMap<&str, VendoredPackage> = BTreeMap::new();
    for (path, before, after) in changes {
        let Some(after) = after.filter(|after| Some(*after) != *before) else { continue };
        if let Some(what) = archive(path, after) {
            found.push(NewDependency { path: (*path).to_owned(), what: format!("{} {what}", quoted(path)) });
        } else if let Some(folder) = vendored(path) {
            let package = unpacked.entry(folder).or_default();
            package.files += 1;
            package.was_there |= before.is_some();
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found.extend(unpacked.into_iter().map(|(folder, package)| {
        let files = if package.files == 1 { "1 file".to_owned() } else { format!("{} files", package.files) };
        let what = if package.was_there {
            format!("{} is a vendored package, and was changed ({files})", quoted(folder))
        } else {
            format!("{} is a vendored package that is new ({files})", quoted(folder))
        };
        NewDependency { path: folder.to_owned(), what }
    }));
    found
}

fn archive(path: &str, bytes: &[u8]) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(PACKAGES) {
        Some("is a package that is committed")
    } else if name.ends_with(".pth") {
        Some("is run at the start by every Python that finds it")
    } else if ends(PROGRAMS)
        || name.contains(".so.")
        || BEGINNINGS.iter().any(|begin| bytes.starts_with(begin))
    {
        Some("is compiled code that is committed")
    } else {
        None
    }
}

/// The folder of the vendored package that a file belongs to.
pub(super) fn vendored(path: &str) -> Option<&str> {
    let mut begin = 0;
    let mut found = None;
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let end = begin + part.len();
        // The last part is the file.
        parts.peek()?;
        if part.ends_with(".dist-info") || part.ends_with(".egg-info") {
            return path.get(..end);
        }
        if VENDORED.contains(&part) {
            found = Some((part, end + 1));
            break;
        }
        begin = end + 1;
    }
    let (folder, inside) = found?;
    let rest = path.get(inside..)?;
    let first = rest.split('/').next().unwrap_or_default();
    // `@scope/name`, and Go's `host/owner/name`.
    let wanted = match folder {
        "node_modules" if first.starts_with('@') => 2,
        "vendor" if first.contains('.') => 3,
        _ => 1,
    };
    let folders = rest.matches('/').count();
    if folders == 0 {
        return path.get(..inside.checked_sub(1)?);
    }
    let length: usize = rest.split('/').take(wanted.min(folders)).map(|part| part.len() + 1).sum();
    path.get(..inside + length.checked_sub(1)?)
}
