//! The variables and files that make programs use the gateway.

use journeyman_order::model_service::Provider;

/// Takes the place of a key. It grants nothing.
pub(super) const PLACEHOLDER: &str = "held-outside-of-the-sandbox";

/// A file in a job's home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeFile {
    /// Relative to the home, without `..`.
    pub path: &'static str,
    pub text: String,
}

/// The variables of a job whose gateway has this loopback port.
pub(super) fn environment(port: u16, model: Option<Provider>) -> Vec<(String, String)> {
    let url = format!("http://127.0.0.1:{port}");
    let near = "127.0.0.1,localhost";
    let mut variables: Vec<(&str, String)> = Vec::new();
    // For HTTP, curl reads only the lower-case names; other programs read one or the other.
    for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] {
        variables.push((name, url.clone()));
    }
    for name in ["NO_PROXY", "no_proxy", "npm_config_noproxy"] {
        variables.push((name, near.to_owned()));
    }
    for name in [
        "npm_config_https_proxy", "npm_config_proxy", "PIP_PROXY", "CARGO_HTTP_PROXY",
        // Yarn 2 and later read no other.
        "YARN_HTTPS_PROXY", "YARN_HTTP_PROXY",
    ] {
        variables.push((name, url.clone()));
    }
    // Node's own fetch ignores the others without it.
    variables.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
    match model {
        Some(Provider::Anthropic) => {
            variables.push(("ANTHROPIC_BASE_URL", url));
            variables.push(("ANTHROPIC_API_KEY", PLACEHOLDER.to_owned()));
        }
        Some(Provider::OpenAi) => {
            variables.push(("OPENAI_BASE_URL", format!("{url}/v1")));
            variables.push(("OPENAI_API_KEY", PLACEHOLDER.to_owned()));
        }
        None => {}
    }
    variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
