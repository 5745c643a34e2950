//! Single files of a repository, such as its settings.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::endpoints::InstalledRepository;
use super::error::{ErrorKind, GitHubError, Result, found};
use super::permissions::TokenPermissions;
use super::queries::percent_encoded;
use super::service::GitHub;
use super::transport::GitHubRequest;

impl GitHub {
    /// A file at a commit, a branch or a tag; none when there is no such file, or when it is a directory or a
    /// submodule.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a path that leaves the repository, or a file over 1 MB, which GitHub does not
    /// give this way.
    pub async fn file(&self, at: &InstalledRepository, path: &str, git_ref: &str) -> Result<Option<Vec<u8>>> {
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(GitHubError::new(
                ErrorKind::Invalid,
                format!("{path:?} is not a path in a repository"),
            ));
        }
        let route: Vec<String> = path.split('/').map(percent_encoded).collect();
        let route = format!("/contents/{}?ref={}", route.join("/"), percent_encoded(git_ref));
        let request = GitHubRequest::get(at.route(&route));
        let answer = found(self.call(at, TokenPermissions::ReadContents, &request).await)?;
        let Some(answer) = answer else { return Ok(None) };
        let entry: Value = answer.json()?;
        let field = |key: &str| entry.get(key).and_then(Value::as_str);
        // A directory is a list and has no type.
        if field("type") != Some("file") {
            return Ok(None);
        }
        let (Some("base64"), Some(content)) = (field("encoding"), field("content")) else {
            return Err(GitHubError::new(
                ErrorKind::Invalid,
                format!("{path} in {} is over 1 MB; make it smaller", at.repository),
            ));
        };
        let packed: String = content.split_ascii_whitespace().collect();
        let bytes = STANDARD
            .decode(packed)
            .map_err(|error| GitHubError::unexpected(format!("GitHub's encoding of {path}: {error}")))?;
        Ok(Some(bytes))
    }
}
