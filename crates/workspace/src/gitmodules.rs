//! `.gitmodules`: the address of each submodule, and whether we fetch from it.
//!
//! May know: the file's syntax, addresses. Must never know: how anything is fetched. The file is untrusted: anything
//! unusual is refused, with a reason for people.

use url::Url;

use super::names;
use journeyman_order::bounds::{LARGEST_SETTINGS, LONGEST_PATH};
use journeyman_order::{RepositoryName, byte_order_mark};

pub(super) const TOO_LARGE: &str = "it is larger than 64 KiB";

/// The file's entry for one submodule.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct SubmoduleEntry {
    pub(super) path: String,
    pub(super) url: String,
}

/// Parses the file; an error says why it is unusable.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<SubmoduleEntry>, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is no text")?;
    let text = byte_order_mark::strip(text);
    if text.len() > LARGEST_SETTINGS {
        return Err(TOO_LARGE);
    }
    let mut entries: Vec<SubmoduleEntry> = Vec::new();
    let mut is_inside = false;
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            is_inside = header.to_ascii_lowercase().starts_with("submodule");
            if is_inside {
                entries.push(SubmoduleEntry::default());
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let Some(entry) = entries.last_mut().filter(|_| is_inside) else { continue };
        let value = plain_value(value.trim())?;
        match key.trim().to_ascii_lowercase().as_str() {
            "path" => entry.path = value,
            "url" => entry.url = value,
            // Ignore the update mode: it could be a command, and we run none.
            _ => {}
        }
    }
    entries.retain(|entry| !entry.path.is_empty());
    Ok(entries)
}

pub(super) fn plain_value(value: &str) -> Result<String, &'static str> {
    let mut plain = String::new();
    let (mut is_quoted, mut is_escaped) = (false, false);
    for character in value.chars() {
        match character {
            _ if character.is_control() => return Err("there are control characters in it"),
            '"' | '\\' if is_escaped => plain.push(character),
            _ if is_escaped => return Err("there are escapes in it that no address and no path needs"),
            '\\' => {
                is_escaped = true;
                continue;
            }
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            _ => plain.push(character),
        }
        is_escaped = false;
    }
    if is_quoted || is_escaped {
        return Err("it goes on in another line where no value does");
    }
    Ok(if value.starts_with('"') { plain } else { plain.trim_end().to_owned() })
}

/// Why a path is refused; `None` if it is a plain one.
pub(super) fn path_problem(path: &str) -> Option<&'static str> {
    if path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return Some("its path leads out of the repository");
    }
    if path.starts_with('-') {
        return Some("its path begins with a dash");
    }
    let is_plain = |part: &str| !part.is_empty() && part != "." && !names::is_dot_git(part);
    (!path.split('/').all(is_plain)).then_some("its path is none of a folder's")
}

/// The address to fetch a submodule from, relative to its parent repository; an error says why it is refused.
pub(super) fn address(of: &Url, said: &str) -> Result<Url, String> {
    let refused = |why: &str| Err(why.to_owned());
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if said.is_empty() {
        return refused("it has no address");
    }
    if said.len() > LONGEST_PATH || said.contains(is_odd) || said.starts_with('-') {
        return refused("its address is none that is fetched");
    }
    let over_https = of_ssh(of, said);
    let said = over_https.as_deref().unwrap_or(said);
    let mut parts: Vec<&str> = of.path().trim_matches('/').split('/').collect();
    let depth = parts.len();
    let absolute;
    if said.starts_with("./") || said.starts_with("../") {
        for part in said.trim_end_matches('/').split('/') {
            match part {
                "." => {}
                ".." if parts.pop().is_some() => {}
                ".." => return refused("its address leads out of the server"),
                part => parts.push(part),
            }
        }
    } else {
        absolute = Url::parse(said).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
        let Some(url) = &absolute else {
            return refused(
                "its address is neither a relative one nor one of https, and no other is fetched",
            );
        };
        if !url.username().is_empty() || url.password().is_some() {
            return refused("there is a user in its address");
        }
        if url.origin() != of.origin() {
            let host = url.host_str().unwrap_or_default();
            return Err(format!("it is on another server, {host}"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return refused("its address is none that is fetched");
        }
        parts = url.path().trim_matches('/').split('/').collect();
    }
    let own: Vec<&str> = of.path().trim_matches('/').split('/').collect();
    let is_beside = parts.len() == depth && depth >= 2 && parts.get(..depth - 2) == own.get(..depth - 2);
    let name = match (is_beside, parts.as_slice()) {
        (true, [.., owner, name]) => {
            format!("{owner}/{}", name.strip_suffix(".git").unwrap_or(name)).parse::<RepositoryName>().ok()
        }
        _ => None,
    };
    let Some(name) = name else { return refused("its address is none of a repository on the same server") };
    let before = own.get(..depth - 2).unwrap_or_default().iter().map(|part| format!("/{part}"));
    let mut url = of.clone();
    url.set_path(&format!("{}/{name}.git", before.collect::<String>()));
    Ok(url)
}

/// The HTTPS address for an SSH address on the same host. Git servers serve the same repository on both.
fn of_ssh(of: &Url, said: &str) -> Option<String> {
    let (host, path) = match said.strip_prefix("ssh://git@") {
        Some(rest) => rest.split_once('/')?,
        None => said.strip_prefix("git@")?.split_once(':')?,
    };
    (Some(host) == of.host_str()).then(|| format!("{}/{path}", of.origin().ascii_serialization()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_as_git_writes_it_is_read_and_what_is_not_plain_is_refused() {
        let text = "# vendored\n[submodule \"lib\"]\n\tpath = lib/sums ; here\n\turl = \"../sums.git\"\n\tupdate = !touch x\n\
                    [other]\n\tpath = x\n[Submodule \"b\"]\n\tURL = https://example.org/a/b\n\tpath=b\n[submodule \"no path\"]\n";
        let entry = |path: &str, url: &str| SubmoduleEntry { path: path.into(), url: url.into() };
        let read = parse(text.as_bytes());
        assert_eq!(read, Ok(vec![entry("lib/sums", "../sums.git"), entry("b", "https://example.org/a/b")]));
        for bad in ["path = a\\nb", "path = \"a", "path = a\\", "path = a\u{7}"] {
            assert!(parse(format!("[submodule \"x\"]\n{bad}\n").as_bytes()).is_err(), "{bad:?}");
        }
        assert!(parse(&[0xff]).is_err());
        assert!(parse(&vec![b'#'; LARGEST_SETTINGS + 1]).is_err());
    }

    #[test]
    fn only_repositories_of_the_same_server_are_fetched() {
        let of: Url = "https://github.com/octo/sums.git".parse().unwrap();
        for (said, url) in [
            ("../lib.git", "https://github.com/octo/lib.git"),
            ("../lib/", "https://github.com/octo/lib.git"),
            ("../../other/lib", "https://github.com/other/lib.git"),
            ("https://github.com/other/lib", "https://github.com/other/lib.git"),
            ("https://github.com:443/other/lib.git/", "https://github.com/other/lib.git"),
            ("git@github.com:other/lib.git", "https://github.com/other/lib.git"),
            ("ssh://git@github.com/other/lib", "https://github.com/other/lib.git"),
        ] {
            assert_eq!(address(&of, said).map(|url| url.to_string()), Ok(url.to_owned()), "{said}");
        }
        for said in [
            "",
            "-uploadpack=touch x",
            "--upload-pack=x",
            "ext::sh -c touch% x",
            "file:///etc",
            "/etc",
            "git@example.org:octo/lib.git",
            "git@github.com@example.org:octo/lib.git",
            "git@github.com:../../x",
            "git@github.com:octo/lib?x=1",
            "other@github.com:octo/lib.git",
            "ssh://git@github.com:22/octo/lib.git",
            "ssh://git@example.org/octo/lib.git",
            "git://github.com/octo/lib.git",
            "http://github.com/octo/lib.git",
            "https://user:secret@github.com/octo/lib.git",
            "https://example.org/octo/lib.git",
            "https://github.com.example.org/octo/lib.git",
            "https://github.com@example.org/octo/lib.git",
            "https://github.com:8443/octo/lib.git",
            "https://github.com/octo/lib.git?x=1",
            "https://github.com/octo",
            "https://github.com/a/b/c",
            "https://github.com/octo/%2e%2e",
            "../../../../x/y",
            "../..",
            "./lib",
            "../a b",
            "../-x\n",
        ] {
            assert!(address(&of, said).is_err(), "{said:?}: {:?}", address(&of, said));
        }
    }

    #[test]
    fn a_path_is_one_of_a_folder_below_the_root() {
        for good in ["lib", "a/b-c/d.e"] {
            assert_eq!(path_problem(good), None, "{good}");
        }
        for bad in ["..", "a/../b", "/etc", "-x", "", "a//b", "./a", ".git/hooks", "a/.GIT", "a/git~1"] {
            assert!(path_problem(bad).is_some(), "{bad}");
        }
    }
}
