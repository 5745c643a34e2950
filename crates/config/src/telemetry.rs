//! `[telemetry]`: where traces of orders go. Where it says nothing, the variables that everybody knows.
//!
//! May know: keys, and OpenTelemetry's variables. Must never know: what is sent.

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::SettingsError;
use super::environment::EnvironmentVariables;
use super::known::{self, KnownSetting};
use super::raw::SettingReader;
use journeyman_order::TelemetrySettings;

/// The one for traces is the whole address, and the other is that of all signals.
const ENDPOINTS: [(&str, bool); 2] =
    [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", true), ("OTEL_EXPORTER_OTLP_ENDPOINT", false)];
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
/// What is added to the address of all signals.
const TRACES: &str = "v1/traces";

pub(super) fn telemetry(
    keys: SettingReader<'_>,
    variables: &EnvironmentVariables,
) -> Result<Option<TelemetrySettings>, SettingsError> {
    // What is in the settings has to be right, whether it is used or not.
    let given = keys.get(known::OTLP_HEADERS)?;
    let Some(endpoint) = endpoint(keys, variables)? else { return Ok(None) };
    Ok(Some(TelemetrySettings { endpoint, headers: headers(given, keys, variables)? }))
}

fn endpoint(keys: SettingReader<'_>, variables: &EnvironmentVariables) -> Result<Option<Url>, SettingsError> {
    if let Some(url) = keys.get::<Url>(known::OTLP_ENDPOINT)? {
        return Ok(Some(for_traces(url)));
    }
    for (name, is_whole) in ENDPOINTS {
        let text =
            variables.get(name).map(|text| text.expose_secret().trim()).filter(|text| !text.is_empty());
        let Some(text) = text else { continue };
        let url =
            Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let url =
            url.ok_or_else(|| of_variable(known::OTLP_ENDPOINT, name, "http://HOST:4318 or https://…"))?;
        return Ok(Some(if is_whole { url } else { for_traces(url) }));
    }
    Ok(None)
}

fn for_traces(mut url: Url) -> Url {
    let path = format!("{}/{TRACES}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url
}

fn headers(
    given: Option<SecretString>,
    keys: SettingReader<'_>,
    variables: &EnvironmentVariables,
) -> Result<Vec<(String, SecretString)>, SettingsError> {
    let expected = "NAME=VALUE, several with a comma between";
    let of_environment = || HEADERS.into_iter().find_map(|name| Some((variables.get(name)?.clone(), name)));
    let (text, wrong) = match (given, of_environment()) {
        (Some(text), _) => (text, keys.wrong(known::OTLP_HEADERS, expected)),
        (None, Some((text, name))) => (text, of_variable(known::OTLP_HEADERS, name, expected)),
        (None, None) => return Ok(Vec::new()),
    };
    let parts = text.expose_secret().split(',').map(str::trim).filter(|part| !part.is_empty());
    let pairs = parts.map(|part| {
        let (name, value) = part.split_once('=')?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), SecretString::from(decoded(value.trim()))))
    });
    pairs.collect::<Option<Vec<_>>>().ok_or(wrong)
}

/// OpenTelemetry writes values as in a URL, where `%20` is a blank.
fn decoded(value: &str) -> String {
    url::form_urlencoded::parse(format!("v={}", value.replace('+', "%2B").replace('&', "%26")).as_bytes())
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

fn of_variable(known: KnownSetting, name: &str, expected: &str) -> SettingsError {
    SettingsError::Value {
        key: known.key.to_owned(),
        place: format!("the environment, {name}"),
        expected: expected.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::SettingsFixture;

    fn of(toml: &str, env: &[(&str, &str)]) -> Result<Option<TelemetrySettings>, SettingsError> {
        SettingsFixture::new().load(toml, env).map(|settings| settings.telemetry)
    }

    fn endpoint_of(toml: &str, env: &[(&str, &str)]) -> Option<String> {
        of(toml, env).unwrap().map(|telemetry| telemetry.endpoint.to_string())
    }

    #[test]
    fn the_setting_comes_before_the_variables_and_the_one_for_traces_is_taken_as_it_is() {
        let all = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4318/otlp/");
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces/here");
        assert_eq!(endpoint_of("", &[]), None);
        assert_eq!(endpoint_of("", &[all]).as_deref(), Some("http://all:4318/otlp/v1/traces"));
        assert_eq!(endpoint_of("", &[all, traces]).as_deref(), Some("https://traces/here"));
        let toml = "[telemetry]\notlp_endpoint = \"http://ours:4318\"";
        assert_eq!(endpoint_of(toml, &[all, traces]).as_deref(), Some("http://ours:4318/v1/traces"));
        let error = of("", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")]).unwrap_err().to_string();
        assert!(error.contains("OTEL_EXPORTER_OTLP_ENDPOINT") && !error.contains("4317"), "{error}");
    }

    #[test]
    fn headers_are_read_as_opentelemetry_writes_them_and_never_repeated() {
        let toml = "[telemetry]\notlp_endpoint = \"http://ours:4318\"";
        let headers = "authorization=Basic%20YTpi+c=, x-tenant = one";
        let read = of(toml, &[("OTEL_EXPORTER_OTLP_HEADERS", headers)]).unwrap().unwrap().headers;
        let read: Vec<_> = read.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
        assert_eq!(read, [("authorization", "Basic YTpi+c="), ("x-tenant", "one")]);
        let error = of(toml, &[("OTEL_EXPORTER_OTLP_HEADERS", "s3cret")]).unwrap_err().to_string();
        assert!(error.contains("OTEL_EXPORTER_OTLP_HEADERS") && !error.contains("s3cret"), "{error}");
    }
}
