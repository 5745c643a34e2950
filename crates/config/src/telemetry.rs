//! Where traces of orders are sent, from OpenTelemetry's variables.
//!
//! May know: these variables. Must never know: what is sent.

use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::SettingsError;
use super::environment::EnvironmentVariables;
use journeyman_order::TelemetrySettings;

/// The variables for the endpoint, and whether each holds the complete address for traces.
const ENDPOINTS: [(&str, bool); 2] =
    [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", true), ("OTEL_EXPORTER_OTLP_ENDPOINT", false)];
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
/// Appended to the general endpoint.
const TRACES: &str = "v1/traces";

pub(super) fn telemetry(
    variables: &EnvironmentVariables,
) -> Result<Option<TelemetrySettings>, SettingsError> {
    let Some(endpoint) = endpoint(variables)? else { return Ok(None) };
    Ok(Some(TelemetrySettings { endpoint, headers: headers(variables)? }))
}

fn endpoint(variables: &EnvironmentVariables) -> Result<Option<Url>, SettingsError> {
    for (name, is_whole) in ENDPOINTS {
        let text =
            variables.get(name).map(|text| text.expose_secret().trim()).filter(|text| !text.is_empty());
        let Some(text) = text else { continue };
        let url =
            Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let url = url.ok_or_else(|| SettingsError::in_environment(name, "http://HOST:4318 or https://…"))?;
        return Ok(Some(if is_whole { url } else { for_traces(url) }));
    }
    Ok(None)
}

fn for_traces(mut url: Url) -> Url {
    let path = format!("{}/{TRACES}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url
}

fn headers(variables: &EnvironmentVariables) -> Result<Vec<(String, SecretString)>, SettingsError> {
    let found = HEADERS.into_iter().find_map(|name| Some((variables.get(name)?, name)));
    let Some((text, name)) = found else { return Ok(Vec::new()) };
    let parts = text.expose_secret().split(',').map(str::trim).filter(|part| !part.is_empty());
    let pairs = parts.map(|part| {
        let (name, value) = part.split_once('=')?;
        let name = name.trim();
        // OpenTelemetry percent-encodes values, so `%20` is a space.
        let value = percent_decode_str(value.trim()).decode_utf8_lossy().into_owned();
        (!name.is_empty()).then(|| (name.to_owned(), SecretString::from(value)))
    });
    let pairs = pairs.collect::<Option<Vec<_>>>();
    pairs.ok_or_else(|| SettingsError::in_environment(name, "NAME=VALUE, several with a comma between"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::SettingsFixture;

    fn of(env: &[(&str, &str)]) -> Result<Option<TelemetrySettings>, SettingsError> {
        SettingsFixture::new().load("", env).map(|settings| settings.telemetry)
    }

    fn endpoint_of(env: &[(&str, &str)]) -> Option<String> {
        of(env).unwrap().map(|telemetry| telemetry.endpoint.to_string())
    }

    #[test]
    fn the_variable_for_traces_comes_first_and_is_taken_as_it_is() {
        let all = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4318/otlp/");
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces/here");
        assert_eq!(endpoint_of(&[]), None);
        assert_eq!(endpoint_of(&[all]).as_deref(), Some("http://all:4318/otlp/v1/traces"));
        assert_eq!(endpoint_of(&[all, traces]).as_deref(), Some("https://traces/here"));
        let error = of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")]).unwrap_err().to_string();
        assert!(error.contains("OTEL_EXPORTER_OTLP_ENDPOINT") && !error.contains("4317"), "{error}");
    }

    #[test]
    fn headers_are_read_as_opentelemetry_writes_them_and_never_repeated() {
        let collector = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://ours:4318");
        let headers = "authorization=Basic%20YTpi+c=, x-tenant = one";
        let read = of(&[collector, ("OTEL_EXPORTER_OTLP_HEADERS", headers)]).unwrap().unwrap().headers;
        let read: Vec<_> = read.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
        assert_eq!(read, [("authorization", "Basic YTpi+c="), ("x-tenant", "one")]);
        let error = of(&[collector, ("OTEL_EXPORTER_OTLP_HEADERS", "s3cret")]).unwrap_err().to_string();
        assert!(error.contains("OTEL_EXPORTER_OTLP_HEADERS") && !error.contains("s3cret"), "{error}");
    }
}
