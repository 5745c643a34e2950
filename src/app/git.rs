//! Checks git: nothing starts without it.

/// The first version with everything that we use.
const OLDEST: (u32, u32) = (2, 29);

/// The version of this machine's git.
///
/// # Errors
/// If git is missing or too old.
pub(super) async fn version() -> anyhow::Result<String> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let asked = tokio::process::Command::new("git").arg("--version").env_clear().env("PATH", search).output();
    let (major, minor) = OLDEST;
    let said = asked.await.ok().filter(|said| said.status.success()).ok_or_else(|| {
        anyhow::anyhow!("git is missing: install git {major}.{minor} or newer, so that it is on PATH")
    })?;
    let said = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    anyhow::ensure!(
        number(&said).is_none_or(|found| found >= OLDEST),
        "{said} is too old: install git {major}.{minor} or newer"
    );
    Ok(said)
}

/// The version in `git version 2.39.5 (…)`; `None` for any other text.
fn number(said: &str) -> Option<(u32, u32)> {
    let mut parts = said.split_whitespace().nth(2)?.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_as_git_prints_it() {
        assert_eq!(number("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(number("git version 2.9.1"), Some((2, 9)));
        assert!(number("git version 2.28.1").is_some_and(|old| old < OLDEST));
        assert_eq!(number("git version next"), None);
    }
}
