//! The versions of dependencies in builds: a change of nothing else leaves alone how tests run.

use std::collections::BTreeSet;

use regex::{Captures, Regex};

use crate::dependency_versions::{DependencyVersions, found};
use crate::old_settings::{OldPart, old_whole};

pub(super) const SETTINGS: &[(&str, OldPart)] = &[
    ("pom.xml", |base, after| old_whole(base, after, pom_without_versions)),
    ("build.gradle", |base, after| old_whole(base, after, gradle_without_versions)),
    ("build.gradle.kts", |base, after| old_whole(base, after, gradle_without_versions)),
];

/// A line that names a dependency, and does nothing else.
fn gradle_dependency() -> &'static Regex {
    pattern!(
        r#"(?mx)^(?<before>[\ \t]*
            (?:\w*[iI]mplementation|\w*[aA]pi|\w*[cC]ompileOnly|\w*[rR]untimeOnly|annotationProcessor)
            [\ \t(]+(?:(?:enforcedP|p)latform[\ \t(]+)?['"])
            (?<name>[\w.-]+:[\w.-]+):(?<version>[\w.+-]+)(?<behind>['"][\ \t)]*\r?)$"#
    )
}

pub(super) fn of_gradle(text: &str) -> Option<DependencyVersions> {
    found(gradle_dependency(), text)
}

fn gradle_without_versions(text: &str) -> Option<String> {
    Some(gradle_dependency().replace_all(text, "${before}${name}${behind}").into_owned())
}

/// The text without the versions of dependencies, and without properties that are only used as such. Plugins stand in
/// builds, which are kept.
fn pom_without_versions(text: &str) -> Option<String> {
    let dependency = pattern!(
        r"(?<before><dependency>(?:\s*<(?:groupId|artifactId|type|classifier|scope)>[^<]*</\w+>)*\s*<version>)(?:[\w.+-]+|\$\{[\w.-]+\})<"
    );
    let (mut outside, mut builds) = (String::new(), String::new());
    for (at, part) in text.split("<build>").enumerate() {
        let (build, behind) = if at == 0 { ("", part) } else { part.split_once("</build>")? };
        builds.extend(["<build>", build, "</build>"]);
        outside.extend(["<build/>", &dependency.replace_all(behind, "${before}<")]);
    }
    let kept = format!("{outside}{builds}");
    let (anywhere, elsewhere) = (properties(text), properties(&kept));
    let property = pattern!(r"<([\w.-]+\.version)>[\w.+-]+</");
    let without = property.replace_all(&outside, |found: &Captures<'_>| {
        let (whole, [name]) = found.extract();
        let used = format!("${{{name}}}");
        let is_version = anywhere.contains(used.as_str()) && !elsewhere.contains(used.as_str());
        if is_version { format!("<{name}></") } else { whole.to_owned() }
    });
    Some(format!("{without}{builds}"))
}

fn properties(text: &str) -> BTreeSet<&str> {
    pattern!(r"\$\{[^{}]*\}").find_iter(text).map(|property| property.as_str()).collect()
}
