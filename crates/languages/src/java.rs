//! Java and Kotlin projects: Maven and Gradle, with their wrappers.
//!
//! May know: pom.xml, build.gradle. Must never know: other ecosystems.

mod items;
mod versions;

use crate::counts::maven;
use crate::dependency_versions::{DependencyReader, DependencyVersions, put};
use crate::grammar_kind::file_name;
use crate::language::{Facts, Language, PackageSource};
use crate::not_loaded::NotLoaded;
use crate::project::{Detection, FoundProject};
use crate::runner::{Asked, PrintedResult, RunnerCall, SelectedRun, SummaryForm, TestRunner, TestSelection};
use crate::test_call::{TestCall, joined};
use crate::tool_facts::{SetupAction, ToolFacts};
use journeyman_order::bounds::MOST_NAMED;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) struct Java;

impl Language for Java {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sources: &["java", "kt", "kts", "scala", "groovy"],
                unparsed: &[("Kotlin", &["kt", "kts"]), ("Scala", &["scala"]), ("Groovy", &["groovy"])],
                compiled: &["class", "jar", "war"],
                configuration: &[
                    "settings.gradle", "settings.gradle.kts", "gradle.properties", "gradlew",
                    "gradle/wrapper/*", "mvnw", ".mvn/*",
                ],
                settings: versions::SETTINGS,
                manifests: &["pom.xml", "build.gradle", "build.gradle.kts", "build.sbt"],
                programs: &["mvn", "mvnw", "gradle", "gradlew", "sbt"],
                runners: RUNNERS,
                tools: &[
                    ToolFacts {
                        name: "java",
                        version_arguments: &["-version"],
                        actions: &[SetupAction::new("actions/setup-java", "java-version")],
                        version_files: &[".java-version"],
                        ..ToolFacts::NONE
                    },
                    ToolFacts {
                        name: "mvn",
                        actions: &[SetupAction::new("stCarolas/setup-maven", "maven-version")],
                        ..ToolFacts::NONE
                    },
                ],
                packages: &[PackageSource {
                    signs: &[
                        "pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle",
                        "settings.gradle.kts", "build.sbt",
                    ],
                    programs: &["mvn", "mvnw", "gradle", "gradlew", "sbt"],
                    hosts: &[
                        "repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org",
                        "plugins-artifacts.gradle.org", "services.gradle.org", "dl.google.com",
                    ],
                }],
                lockfiles: &["*.lockfile"],
                decides: &["gradle.properties", "*.gradle", "*.gradle.kts", "*.versions.toml"],
                dependency_folders: &["/target", ".gradle"],
                protected: &[
                    ".mvn/", "gradle/wrapper/", "gradlew", "gradlew.bat", "gradlew.cmd", "mvnw", "mvnw.bat",
                    "mvnw.cmd",
                ],
                missing: &[
                    r"^.*Could not (?:find|resolve) (?:dependencies|artifact|com\.|org\.).*$",
                    r"^.*\[ERROR\].*Could not transfer artifact .*$",
                    r"^.*Could not resolve all (?:files|dependencies|artifacts) .*$",
                ],
                not_loaded: NOT_LOADED,
                surroundings: &[
                    r"\b(?:getProtectionDomain|getStackTrace|StackWalker|java\.class\.path|System\.console|\w+Tests?\.class)\b",
                ],
                syntax: Some(&items::SYNTAX),
                ..Facts::NONE
            }
        }
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }

    fn unloaded(&self, lines: &[&str]) -> Vec<(usize, String)> {
        unloaded_by_maven(lines)
    }

    fn dependencies(&self, path: &str) -> Option<DependencyReader> {
        match file_name(path) {
            "pom.xml" => Some(dependencies),
            "build.gradle" | "build.gradle.kts" => Some(versions::of_gradle),
            _ => None,
        }
    }

    fn reaches(&self, call: &TestCall<'_, '_>) -> bool {
        call.below.is_empty() || reaches(call)
    }
}

const NOT_LOADED: &[NotLoaded] = &[
    NotLoaded::part(r"^\S*?\b(src/\S+?\.java):\d+: error: "),
    NotLoaded::part(r"^e: \S*?\b(src/\S+?\.kts?):\d+:\d+"),
    NotLoaded::COMPILER,
    NotLoaded::run(r".*cannot find symbol"),
    NotLoaded::base(r"(?:\[ERROR\] )?\S+\.(?:java|kt|scala|groovy):\S* "),
    NotLoaded::base(r"e: \S+\.kts?:"),
    NotLoaded::program(r"symbol: +(?:method|class|variable) (\w+)"),
    NotLoaded::program(r"^\S+\.java:\d+.*(?:error|syntax)"),
    NotLoaded::program(r"^javac: "),
];

/// Style checkers name lines of files in the same way as Maven's compiler.
fn unloaded_by_maven(lines: &[&str]) -> Vec<(usize, String)> {
    let of_maven = pattern!(r"^\[ERROR\] \S*?\b(src/\S+?\.java):\[\d+,\d+\] ");
    if !lines.iter().any(|line| line.trim_end() == "[ERROR] COMPILATION ERROR :") {
        return Vec::new();
    }
    let file = |(at, line): (usize, &&str)| Some((at, of_maven.captures(line)?.get(1)?.as_str().to_owned()));
    lines.iter().enumerate().filter_map(file).collect()
}

/// Both write a report for each class unasked.
const RUNNERS: &[TestRunner] = &[
    TestRunner {
        name: "maven",
        runs: |words| goals(words).iter().any(|goal| runs_tests(goal)),
        ask: ask_maven,
        behind: &["pom.xml"],
        written: &["**/target/surefire-reports/TEST-*.xml", "**/target/failsafe-reports/TEST-*.xml"],
        select: select_in_maven,
        printed: Some(PrintedResult { read: maven::maven, form: SummaryForm::Parts }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "gradle",
        runs: |words| tasks(words).iter().any(|task| is_test_task(task)),
        ask: ask_gradle,
        behind: &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"],
        written: &["**/build/test-results/**/TEST-*.xml"],
        select: select_in_gradle,
        ..TestRunner::NONE
    },
];

/// The arguments that are no options, if the program is one of these or a shell runs its wrapper.
fn arguments<'w>(words: &[&'w str], programs: &[&str]) -> Vec<&'w str> {
    let words = words.strip_prefix(&["sh"]).or_else(|| words.strip_prefix(&["bash"])).unwrap_or(words);
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    if !programs.contains(&file_name(program)) {
        return Vec::new();
    }
    rest.iter().copied().filter(|word| !word.starts_with('-')).collect()
}

fn goals<'w>(words: &[&'w str]) -> Vec<&'w str> {
    arguments(words, &["mvn", "mvnw", "mvnd"])
}

fn runs_tests(goal: &str) -> bool {
    let phases = ["test", "package", "verify", "install", "deploy", "integration-test"];
    phases.contains(&goal) || goal.starts_with("surefire:") || goal.starts_with("failsafe:")
}

fn tasks<'w>(words: &[&'w str]) -> Vec<&'w str> {
    arguments(words, &["gradle", "gradlew"])
}

/// `test`, `check`, `app:testDebugUnitTest` and the like.
fn is_test_task(task: &str) -> bool {
    let own = task.rsplit(':').next().unwrap_or(task);
    ["test", "check", "build"].contains(&own) || own.ends_with("Test") || own.ends_with("Tests")
}

/// Otherwise, Maven leaves out the modules after one with a failing test, and their tests would seem to be gone.
fn ask_maven(call: &RunnerCall<'_>) -> Asked {
    let is_said = call.has(&["-ff", "-fae", "-fn", "--fail-fast", "--fail-at-end", "--fail-never"]);
    let words = if is_said { Vec::new() } else { vec!["-fae".to_owned()] };
    // Later phases run integration tests, which need what their phases start.
    let is_plain =
        goals(call.words).iter().all(|goal| ["clean", "compile", "test", "package"].contains(goal));
    let takes_options = is_plain && !call.has(&["-D", "-Dtest", "-Dit.test"]);
    Asked { words, takes_options, ..Asked::default() }
}

/// The same of Gradle and its tasks.
fn ask_gradle(call: &RunnerCall<'_>) -> Asked {
    let is_said = call.has(&["--continue", "--no-continue", "--fail-fast"]);
    let words = if is_said { Vec::new() } else { vec!["--continue".to_owned()] };
    // A project of the build without a selected test fails.
    let settings = ["settings.gradle", "settings.gradle.kts"].iter().find_map(|name| (call.read)(name));
    let is_alone = settings.is_none_or(|text| !String::from_utf8_lossy(&text).contains("include"));
    // The option belongs to the last task.
    let tasks = tasks(call.words);
    let is_plain = tasks.last() == Some(&"test") && tasks.iter().all(|task| ["clean", "test"].contains(task));
    let takes_options = is_alone && is_plain && !call.has(&["--tests"]);
    Asked { words, takes_options, ..Asked::default() }
}

fn select_in_maven(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    let classes = methods_by_class(selection.names)?;
    // Only a newer Surefire takes methods of several classes.
    let tests = match classes.iter().collect::<Vec<_>>().as_slice() {
        [(class, methods)] if !methods.contains("*") => {
            let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
            format!("{class}#{}", methods.join("+"))
        }
        _ => classes.into_keys().collect::<Vec<_>>().join(","),
    };
    selection.with_option(&format!(
        "'-Dtest={tests}' -DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false"
    ))
}

fn select_in_gradle(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    let classes = methods_by_class(selection.names)?;
    let each = |(class, methods): (&String, &BTreeSet<String>)| {
        let one = |method: &String| format!("--tests '{class}.{method}'");
        methods.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    selection.with_option(&classes.iter().map(each).collect::<Vec<_>>().join(" "))
}

/// The methods of each class; a star stands for more of a name. `None` if a name cannot be a word of a command.
fn methods_by_class(names: &[String]) -> Option<BTreeMap<String, BTreeSet<String>>> {
    let mut classes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for name in names.iter().take(MOST_NAMED + 1) {
        let own = name.split(['(', '[', '{']).next().unwrap_or(name).trim_end();
        let is_plain = own.chars().all(|c| c.is_ascii_alphanumeric() || "._$".contains(c));
        let (class, method) = own.rsplit_once('.').filter(|(class, _)| is_plain && !class.is_empty())?;
        let (class, method) = match method {
            "" => (class, "*".to_owned()),
            // The fixture of a class has only the class's name.
            _ if method.starts_with(|c: char| c.is_ascii_uppercase()) => (own, "*".to_owned()),
            _ if own.len() < name.len() => (class, format!("{method}*")),
            _ => (class, method.to_owned()),
        };
        classes.entry(class.to_owned()).or_default().insert(method);
    }
    (names.len() <= MOST_NAMED).then_some(classes)
}

fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    maven(ask).or_else(|| gradle(ask))
}

/// The test plugin loads its provider only if it has a class to run, so this selects a method that no class has. An old
/// provider that cannot select methods runs them all, and their failures do not matter. Then it removes the compiled
/// classes, since they are not dependencies.
fn maven(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    ask.files.text("pom.xml")?;
    let mut found =
        FoundProject { what: "Java with Maven", because: "pom.xml".into(), ..FoundProject::default() };
    ask.tools.need("java", "pom.xml");
    let program = match ask.files.has("mvnw") {
        // Git may have lost its executable bit.
        true => "sh mvnw",
        false => {
            ask.tools.need("mvn", "pom.xml");
            "mvn"
        }
    };
    let own = ask.files.text(".mvn/maven.config").unwrap_or_default();
    // Java ignores HOME. A repository with a folder of its own keeps it.
    let base = match own.split_whitespace().any(|word| word.starts_with("-Dmaven.repo.local=")) {
        true => format!("{program} -B -ntp"),
        false => format!("{program} -B -ntp -Dmaven.repo.local=\"$HOME/.m2/repository\""),
    };
    found.setup(
        format!(
            "{base} '-Dtest=*#journeymanLoadsTheProvider' -DfailIfNoTests=false -Dsurefire.failIfNoTests=false \
             -Dsurefire.failIfNoSpecifiedTests=false -Dmaven.test.failure.ignore=true test"
        ),
        "pom.xml",
    );
    found.setup(
        "find . -name target -type d -not -path '*/src/*' -exec test -e '{}/../pom.xml' ';' -prune -exec rm -rf '{}' +",
        "pom.xml",
    );
    found.test(format!("{base} -o test"), "pom.xml");
    Some(found)
}

/// Resolves the dependencies of all projects and compiles nothing, in a syntax valid before and after Gradle 5.
const RESOLVE_ALL: &str = r#"cat > ~/.gradle/resolve.gradle <<'END'
allprojects {
    task('resolveEachConfiguration') {
        if (it.respondsTo('notCompatibleWithConfigurationCache')) {
            it.notCompatibleWithConfigurationCache('it looks at all configurations')
        }
        doLast {
            configurations.findAll { it.canBeResolved }.each { found ->
                try { found.incoming.artifactView { lenient = true }.files.each { } } catch (Exception e) { logger.info("${found.name}: ${e}") }
            }
            buildscript.configurations.classpath.files.each { }
        }
    }
}
END"#;

fn gradle(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let names = ["settings.gradle.kts", "settings.gradle", "build.gradle.kts", "build.gradle"];
    let because = ask.files.first(&names)?;
    let mut found = FoundProject {
        what: "Java with Gradle",
        because: because.to_owned(),
        variables: vec![("GRADLE_USER_HOME", "{home}/.gradle")],
        ..FoundProject::default()
    };
    ask.tools.need("java", because);
    let program = match ask.files.has("gradlew") {
        true => {
            found.notes.push(
                "gradlew downloads Gradle from services.gradle.org, which sends it on to github.com: where the setup \
                 cannot reach that, put Gradle on the PATH and name `setup` and `test`"
                    .to_owned(),
            );
            "sh gradlew"
        }
        false => {
            ask.tools.need("gradle", because);
            "gradle"
        }
    };
    found.setup(
        format!(
            "mkdir -p ~/.gradle\n{RESOLVE_ALL}\n{program} --no-daemon --console=plain --init-script \
             ~/.gradle/resolve.gradle resolveEachConfiguration"
        ),
        because,
    );
    found.test(format!("{program} --no-daemon --console=plain --offline test"), because);
    Some(found)
}

/// Whether a Maven build lists a folder as a module. Other build tools configure this in code.
fn reaches(call: &TestCall<'_, '_>) -> bool {
    let Some(pom) = call.file("pom.xml") else { return true };
    let mut prefix = String::new();
    call.below.split('/').any(|part| {
        prefix = joined(&prefix, part);
        pom.contains(&format!("<module>{prefix}</module>"))
    })
}

/// Parses tags only: of properties, those of this file are resolved.
fn dependencies(text: &str) -> Option<DependencyVersions> {
    let values: BTreeMap<&str, &str> = pattern!(r"<([\w.-]+)>([^<>]*)</")
        .captures_iter(text)
        .filter_map(|found| Some((found.get(1)?.as_str(), found.get(2)?.as_str().trim())))
        .collect();
    let mut entries = DependencyVersions::new();
    for (open, close) in [
        ("<dependency>", "</dependency>"),
        ("<plugin>", "</plugin>"),
        ("<extension>", "</extension>"),
        ("<parent>", "</parent>"),
    ] {
        let mut rest = text;
        while let Some((_, from)) = rest.split_once(open) {
            let Some((inner, after)) = from.split_once(close) else { break };
            let tag = |name: &str| {
                let (_, value) = inner.split_once(&format!("<{name}>"))?;
                Some(value.split_once('<')?.0.trim())
            };
            if let Some(artifact) = tag("artifactId") {
                let name =
                    tag("groupId").map_or_else(|| artifact.to_owned(), |group| format!("{group}:{artifact}"));
                let version = tag("version").unwrap_or_default();
                let property = version.strip_prefix("${").and_then(|name| name.strip_suffix('}'));
                let version = property.and_then(|name| values.get(name)).copied().unwrap_or(version);
                put(&mut entries, &name, version, tag("systemPath").unwrap_or_default());
            }
            rest = after;
        }
    }
    Some(entries)
}
