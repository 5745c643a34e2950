//! C's and C++'s projects: CMake with CTest, Meson, Autotools, and whatever has a Makefile.
//!
//! May know: CMakeLists.txt, meson.build, configure.ac, Makefile. Must never know: other ecosystems.
//!
//! All of them build as a part of the test command: a build of another commit's sources proves nothing of this one.

use regex::Regex;

use crate::files::{MOST_READ, RepositoryFiles, quote};
use crate::project::{Detection, FoundProject};

pub(crate) fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    cmake(ask).or_else(|| meson(ask)).or_else(|| autotools(ask))
}

/// A folder for what is built, that the repository has not for something else.
fn build_folder(files: &RepositoryFiles<'_>) -> &'static str {
    if files.has("build") { "build-journeyman" } else { "build" }
}

/// CMakeLists.txt of the root, with those of the tests behind it.
fn cmake_lists(files: &RepositoryFiles<'_>, root: &str) -> String {
    let mut all = root.to_owned();
    let is_of_tests = |path: &&str| {
        path.ends_with("/CMakeLists.txt") && path.split('/').any(|part| part.to_lowercase().contains("test"))
    };
    let inner: Vec<&str> = match files.all().filter(is_of_tests).take(10).collect::<Vec<_>>() {
        none if none.is_empty() => vec!["test/CMakeLists.txt", "tests/CMakeLists.txt"],
        some => some,
    };
    for text in inner.iter().filter_map(|path| files.text(path)) {
        all.push_str(&text);
    }
    all
}

fn cmake(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let files = ask.files;
    let root = files.text("CMakeLists.txt")?;
    let all = cmake_lists(files, &root);
    let has = |pattern: &str| Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&all));
    let has_tests = has(
        r"(?im)^\s*(enable_testing|add_test|gtest_discover_tests|catch_discover_tests|doctest_discover_tests)\s*\(",
    ) || has(r"(?im)^\s*include\s*\(\s*CTest\s*\)");
    let names_tests = has(r"(?im)^\s*(\w*add_\w*test\w*|\w+_discover_tests)\s*\(");
    let has_configure = files.first(&["configure.ac", "configure.in"]).is_some();
    if !has_tests || (!names_tests && has_configure) {
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
    let mut options: Vec<String> =
        test_options(&root).into_iter().map(|name| format!(" -D{name}=ON")).collect();
    let fetches = has(r"(?i)FetchContent_|CPMAddPackage|ExternalProject_Add");
    if fetches {
        options.push(" -DFETCHCONTENT_BASE_DIR=\"$HOME/.cache/cmake-content\"".to_owned());
        found.notes.push(
            "CMakeLists.txt downloads sources while it is configured, often from code hosts, which \
             sandbox.setup_network in journeyman.toml has to name"
                .to_owned(),
        );
        let elsewhere = "~/.cache/cmake-configured";
        found.setup(
            format!("cmake -S . -B {elsewhere}{} && rm -rf {elsewhere}", options.concat()),
            "CMakeLists.txt",
        );
        options.push(" -DFETCHCONTENT_FULLY_DISCONNECTED=ON".to_owned());
    }
    found.test(
        format!(
            "cmake -S . -B {folder}{} && cmake --build {folder} --parallel \"$(nproc)\" && ctest --test-dir {folder} \
             --output-on-failure --no-tests=error",
            options.concat()
        ),
        "CMakeLists.txt",
    );
    Some(found)
}

/// Options of the root that build tests, such as `FMT_TEST`.
fn test_options(root: &str) -> Vec<String> {
    let Ok(option) = Regex::new(r#"(?im)^\s*(?:cmake_dependent_)?option\s*\(\s*"?([A-Za-z0-9_]+)"?"#) else {
        return Vec::new();
    };
    let is_of_tests = |name: &&str| {
        let name = name.to_uppercase();
        let words: Vec<&str> = name.split('_').collect();
        let builds_all =
            words.iter().any(|word| matches!(*word, "TEST" | "TESTS" | "TESTING" | "UNITTEST" | "UNITTESTS"));
        // Kinds of tests that need more than a compiler.
        let special = [
            "FUZZ",
            "PERF",
            "BENCHMARK",
            "COVERAGE",
            "INSTALL",
            "CUDA",
            "MODULE",
            "HEADERS",
            "VALGRIND",
            "MEMCHECK",
            "PYTHON",
            "SANITIZE",
            "NOEXCEPTION",
            "WITHOUT",
            "NO",
            "DISABLE",
            "SKIP",
            "ONLINE",
            "NETWORK",
            "FAST",
            "32BIT",
        ];
        builds_all && !words.iter().any(|word| special.iter().any(|special| word == special))
    };
    let names = option.captures_iter(root).filter_map(|found| found.get(1)).map(|name| name.as_str());
    names.filter(is_of_tests).map(str::to_owned).take(4).collect()
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
    let options = files.text("meson_options.txt").or_else(|| files.text("meson.options")).unwrap_or_default();
    let wanted = meson_test_options(&options);
    found.test(
        format!("meson setup {folder}{wanted} && meson test -C {folder} --print-errorlogs"),
        "meson.build",
    );
    Some(found)
}

/// A build that declares no test is no proof of anything, whatever else the repository has.
fn has_meson_tests(files: &RepositoryFiles<'_>, root: &str) -> bool {
    let Ok(test) = Regex::new(r"(?m)^[^#\n]*\b(?:test|benchmark)\s*\(") else { return false };
    let Ok(folder) = Regex::new(r"subdir\s*\(\s*'([^']*test[^']*)'") else { return false };
    let below =
        files.all().filter(|path| path.ends_with("/meson.build") && !path.starts_with("subprojects/"));
    test.is_match(root)
        || below.take(MOST_READ).any(|path| files.text(path).is_some_and(|text| test.is_match(&text)))
        || (!files.is_whole() && folder.is_match(root))
}

/// Options that build tests and are off by default.
fn meson_test_options(text: &str) -> String {
    let Ok(option) = Regex::new(r"(?s)option\s*\(\s*'([a-z0-9_-]*)'(.*?)\)") else { return String::new() };
    let mut words = String::new();
    for found in option.captures_iter(text) {
        let name = found.get(1).map_or("", |name| name.as_str());
        let rest = found.get(2).map_or("", |rest| rest.as_str());
        let is_of_tests = matches!(
            name,
            "test"
                | "tests"
                | "build-tests"
                | "build_tests"
                | "enable-tests"
                | "enable_tests"
                | "unit_tests"
                | "unit-tests"
        );
        if is_of_tests && rest.contains("'boolean'") && rest.contains("false") {
            words.push_str(&format!(" -D{name}=true"));
        } else if is_of_tests && rest.contains("'feature'") {
            words.push_str(&format!(" -D{name}=enabled"));
        }
    }
    words
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
            // Some of them configure too, unless they are told not to.
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
    // Where automake knows of no test, `make check` is content with none.
    let automake = files.text("Makefile.am").unwrap_or_default();
    let has = |pattern: &str| Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&automake));
    let knows_tests =
        has(r"(?m)^(?:TESTS|check_\w+|SUBDIRS|DIST_SUBDIRS|check-local|check)\b") || has(r"(?m)^include\b");
    let target = if !knows_tests && has(r"(?m)^test\s*:") { "test" } else { "check" };
    if target == "test" && has(r"(?m)^\t.*\bcram\b") {
        ask.tools.need("cram", "Makefile.am");
    }
    found.test(
        format!("{{ [ -e Makefile ] || {{ {configure}; }}; }} && make -j\"$(nproc)\" && make {target}"),
        source,
    );
    Some(found)
}

pub(crate) fn find_make(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    // As make itself looks for them.
    let (name, text) = ["GNUmakefile", "makefile", "Makefile"]
        .into_iter()
        .find_map(|name| Some((name, ask.files.text(name)?)))?;
    let target = ["test", "check", "tests"].into_iter().find(|target| {
        let rule = Regex::new(&format!(r"(?m)^(?:[\w.-]+ +)*{target}(?: +[\w.-]+)*\s*::?([^:=]|$)"));
        rule.is_ok_and(|rule| rule.is_match(&text))
    })?;
    let mut found = FoundProject { what: "make", because: name.to_owned(), ..FoundProject::default() };
    ask.tools.need("make", name);
    found.test(format!("make {}", quote(target)), format!("a target {target} in {name}"));
    Some(found)
}
