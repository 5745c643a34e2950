//! C and C++ projects: CMake with CTest, Meson and Autotools.
//!
//! May know: CMakeLists.txt, meson.build, configure.ac. Must never know: other ecosystems.
//!
//! The test command includes the build: a build of another commit's sources proves nothing about this one.

mod registered;

use regex::Regex;

use crate::counts::native;
use crate::files::{MOST_READ, RepositoryFiles};
use crate::language::{Facts, Language};
use crate::not_loaded::NotLoaded;
use crate::project::{Detection, FoundProject};
use crate::runner::{Asked, PrintedResult, RunnerCall, SelectedRun, SummaryForm, TestRunner, TestSelection};
use crate::tool_facts::{SetupAction, ToolFacts, ToolPackage};
use journeyman_order::bounds::MOST_NAMED;
use registered::{old_registrations, registers_more};

pub(crate) struct C;

impl Language for C {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                compiled: &["so", "dll", "dylib", "exe"],
                unparsed: &[("C", &["c", "h"]), ("C++", &["cc", "cpp", "cxx", "hh", "hpp", "hxx"])],
                tools: &[
                    ToolFacts {
                        name: "cmake",
                        programs: &["cmake", "ctest", "cpack"],
                        actions: &[SetupAction::new("lukka/get-cmake", "cmakeVersion")],
                        package: ToolPackage::Pypi,
                        ..ToolFacts::NONE
                    },
                    ToolFacts { name: "meson", package: ToolPackage::Pypi, ..ToolFacts::NONE },
                    ToolFacts { name: "ninja", package: ToolPackage::Pypi, ..ToolFacts::NONE },
                ],
                decides: &["Makefile", "GNUmakefile", "*.mk"],
                configuration: &["Makefile", "GNUmakefile", "*.mk"],
                settings: &[("cmakelists.txt", old_registrations), ("meson.build", old_registrations)],
                runners: RUNNERS,
                missing: &[
                    r"^.*Compatibility with CMake < [\d.]+ has been removed from CMake.*$",
                    r"^.*CMake Error: CMAKE_\w+_COMPILER not set.*$",
                    r"^.*No CMAKE_\w+_COMPILER could be found.*$",
                    // With leading dashes CMake continues, because the package is optional.
                    r"^(?:[^-].*)?Could NOT find \w+ .*$",
                    r"^.*Could not find a package configuration file provided by .*$",
                    r#"^.*ERROR: Dependency "[^"]+" not found.*$"#,
                    r"^.*No package '[^']+' found.*$",
                    r"^Package \S+ was not found in the pkg-config search path\.$",
                    r"^configure: error: .*$",
                    r"^.*fatal error: (?P<module>[A-Za-z0-9_]+)[\w./+-]*: No such file or directory$",
                    r"^.*error: .*\[-Werror(?:=[\w+=-]+)?\]$",
                ],
                not_loaded: NOT_LOADED,
                surroundings: &[
                    r"\b(?:__(?:BASE_)?FILE__|__builtin_FILE|source_location::current|program_invocation(?:_short)?_name)\b",
                ],
                ..Facts::NONE
            }
        }
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }

    fn brings_tests(&self, name: &str, base: Option<&[u8]>, after: Option<&[u8]>) -> bool {
        matches!(name, "cmakelists.txt" | "meson.build") && registers_more(base, after)
    }
}

const NOT_LOADED: &[NotLoaded] = &[
    NotLoaded::COMPILER,
    NotLoaded::run(r".*undefined reference to"),
    NotLoaded::program(r"implicit declaration of function ['‘](\w+)['’]"),
    NotLoaded::program(r"undefined reference to [`'](\w+)'"),
    NotLoaded::program(r"['‘](\w+)['’] (?:undeclared|was not declared)"),
    NotLoaded::program(r"no member named ['‘](\w+)['’]"),
    NotLoaded::program(r"^\S+\.(?:c|cc|cpp|h):\d+.*(?:error|syntax)"),
];

const RUNNERS: &[TestRunner] = &[
    TestRunner {
        name: "ctest",
        runs: |words| words.first() == Some(&"ctest"),
        ask: report_of_ctest,
        select: |selection| {
            let names = plain_names(selection)?.into_iter().map(regex::escape).collect::<Vec<_>>();
            selection.with_option(&format!("-R '^({})$'", names.join("|")))
        },
        printed: Some(PrintedResult { read: native::ctest, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "meson",
        runs: |words| words.starts_with(&["meson", "test"]),
        ask: |_| Asked { takes_options: true, ..Asked::default() },
        behind: &["meson.build"],
        written: &["**/meson-logs/testlog*.json"],
        select: select_in_meson,
        printed: Some(PrintedResult { read: native::meson, form: SummaryForm::WholeRun }),
        ..TestRunner::NONE
    },
    // Only `make check` runs it. What it writes for each program does not name the program.
    TestRunner {
        name: "automake",
        printed: Some(PrintedResult { read: native::automake, form: SummaryForm::Parts }),
        ..TestRunner::NONE
    },
];

fn report_of_ctest(call: &RunnerCall<'_>) -> Asked {
    let takes_options = !call.has(&["-N", "--show-only", "-S", "--script", "-D", "--dashboard"]);
    let mut asked = Asked { takes_options, ..Asked::default() };
    if let Some(report) = call.report.filter(|_| takes_options && !call.has(&["--output-junit"])) {
        asked.words = vec!["--output-junit".to_owned(), shell_words::quote(report).into_owned()];
        asked.report = Some(report.to_owned());
    }
    asked
}

/// Meson takes names as it prints them, without their suites. Older versions print them in another way.
fn select_in_meson(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    let own = |name: &str| name.split_once(" - ").map_or(name, |(_, own)| own).to_owned();
    let names: Vec<String> = plain_names(selection)?.into_iter().map(own).collect();
    let is_known = names.iter().all(|name| name.contains(':') && !name.contains(" / "));
    let words: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    is_known.then(|| selection.with_option(&words.join(" "))).flatten()
}

/// The names, if each can stand between single quotes.
fn plain_names<'a>(selection: &TestSelection<'a>) -> Option<Vec<&'a str>> {
    let is_plain = |name: &&str| !name.contains(['\'', '\n', '\0']);
    let names = selection.names.iter().map(String::as_str);
    let names = names.map(|name| Some(name).filter(is_plain)).collect::<Option<Vec<_>>>()?;
    (names.len() <= MOST_NAMED).then_some(names)
}

fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    cmake(ask).or_else(|| meson(ask)).or_else(|| autotools(ask))
}

/// A build folder that the repository does not use otherwise.
fn build_folder(files: &RepositoryFiles<'_>) -> &'static str {
    if files.has("build") { "build-here" } else { "build" }
}

fn cmake(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let files = ask.files;
    let root = files.text("CMakeLists.txt")?;
    let has_tests = Regex::new(r"(?im)^\s*(?:enable_testing\s*\(|include\s*\(\s*CTest\s*\))");
    let has_configure = files.first(&["configure.ac", "configure.in"]).is_some();
    if has_configure || !has_tests.is_ok_and(|tests| tests.is_match(&root)) {
        return None;
    }
    ask.tools.need("cmake", "CMakeLists.txt");
    ask.tools.need("make", "CMakeLists.txt");
    let mut found = FoundProject {
        what: "C or C++ with CMake",
        because: "CMakeLists.txt".into(),
        ..FoundProject::default()
    };
    let folder = build_folder(files);
    found.test(
        format!(
            "cmake -S . -B {folder} && cmake --build {folder} --parallel \"$(nproc)\" && ctest --test-dir {folder} \
             --output-on-failure --no-tests=error"
        ),
        "CMakeLists.txt",
    );
    Some(found)
}

fn meson(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let files = ask.files;
    let root = files.text("meson.build")?;
    if !has_meson_tests(files, &root) {
        return None;
    }
    let mut found = FoundProject {
        what: "C or C++ with Meson",
        because: "meson.build".into(),
        ..FoundProject::default()
    };
    ask.tools.need("meson", "meson.build");
    ask.tools.need("ninja", "meson.build");
    let folder = build_folder(files);
    found.test(format!("meson setup {folder} && meson test -C {folder} --print-errorlogs"), "meson.build");
    Some(found)
}

/// A build without tests proves nothing, whatever else the repository contains.
fn has_meson_tests(files: &RepositoryFiles<'_>, root: &str) -> bool {
    let Ok(test) = Regex::new(r"(?m)^[^#\n]*\b(?:test|benchmark)\s*\(") else { return false };
    let Ok(folder) = Regex::new(r"subdir\s*\(\s*'([^']*test[^']*)'") else { return false };
    let below =
        files.all().filter(|path| path.ends_with("/meson.build") && !path.starts_with("subprojects/"));
    test.is_match(root)
        || below.take(MOST_READ).any(|path| files.text(path).is_some_and(|text| test.is_match(&text)))
        || (!files.is_whole() && folder.is_match(root))
}

fn autotools(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let files = ask.files;
    let source = files.first(&["configure.ac", "configure.in", "configure"])?;
    let mut found =
        FoundProject { what: "C or C++ with Autotools", because: source.into(), ..FoundProject::default() };
    ask.tools.need("make", source);
    let configure = match files.first(&["configure", "autogen.sh", "bootstrap", "bootstrap.sh", "buildconf"])
    {
        Some("configure") => "./configure".to_owned(),
        Some("autogen.sh") => {
            ask.tools.need("autoreconf", source);
            // Some of these scripts also run configure, unless this variable is set.
            "NOCONFIGURE=1 sh ./autogen.sh && ./configure".to_owned()
        }
        Some(script) => {
            ask.tools.need("autoreconf", source);
            format!("sh ./{script} && ./configure")
        }
        None => {
            ask.tools.need("autoreconf", source);
            "autoreconf --force --install && ./configure".to_owned()
        }
    };
    found.test(
        format!("{{ [ -e Makefile ] || {{ {configure}; }}; }} && make -j\"$(nproc)\" && make check"),
        source,
    );
    Some(found)
}
