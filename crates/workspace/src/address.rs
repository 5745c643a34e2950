//! A repository's public address, for checkouts whose tools ask git for it. Every fetch saves it beside the mirror,
//! without user or password.

use std::path::{Path, PathBuf};

use url::Url;

use super::{GitError, Workspaces, keep_whole};
use journeyman_order::RepositoryName;
use journeyman_order::bounds::LONGEST_PATH;

pub(super) fn keep(mirror: &Path, said: &str) -> Result<(), GitError> {
    let Some(plain) = public(said) else { return Ok(()) };
    keep_whole(&file(mirror), plain.as_bytes())
}

fn file(mirror: &Path) -> PathBuf {
    mirror.join("journeyman-address")
}

/// The part of an address that is safe to show; `None` if it does not name a server.
fn public(said: &str) -> Option<String> {
    let is_plain = |text: &str| !text.chars().any(|c| c.is_control() || c.is_whitespace());
    if said.len() > LONGEST_PATH || !is_plain(said) || said.starts_with('-') {
        return None;
    }
    match Url::parse(said) {
        Ok(mut url) if matches!(url.scheme(), "https" | "http" | "ssh" | "git") => {
            url.set_password(None).ok()?;
            // For ssh the user is part of the address; over HTTPS it may hold a token.
            if url.scheme() != "ssh" {
                url.set_username("").ok()?;
            }
            url.set_query(None);
            url.set_fragment(None);
            Some(url.into())
        }
        Ok(_) => None,
        // `git@HOST:OWNER/NAME.git`
        Err(_) => {
            let (host, path) = said.split_once(':')?;
            (host.contains('@') && !host.contains('/') && !path.is_empty()).then(|| said.to_owned())
        }
    }
}

impl Workspaces {
    /// The repository's public address, if a fetch has saved it.
    pub fn public_address(&self, repository: &RepositoryName) -> Option<String> {
        let mirror = self.mirror(repository).ok()?;
        public(&std::fs::read_to_string(file(mirror.path())).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::public;

    #[test]
    fn nothing_that_opens_a_repository_is_in_its_address() {
        for (said, shown) in [
            ("https://github.com/octo/sums.git", Some("https://github.com/octo/sums.git")),
            ("https://x-access-token:ghs_1@github.com/octo/sums", Some("https://github.com/octo/sums")),
            ("https://ghp_1@github.com/octo/sums?token=1#x", Some("https://github.com/octo/sums")),
            ("git@github.com:octo/sums.git", Some("git@github.com:octo/sums.git")),
            ("ssh://git:secret@github.com/octo/sums", Some("ssh://git@github.com/octo/sums")),
            ("/home/me/sums", None),
            ("../sums", None),
            ("file:///home/me/sums", None),
            ("ext::sh -c x", None),
            ("--upload-pack=x", None),
            ("", None),
        ] {
            assert_eq!(public(said).as_deref(), shown, "{said}");
        }
    }
}
