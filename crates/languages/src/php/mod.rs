//! PHP projects: Composer, with PHPUnit, Pest or a script.
//!
//! May know: composer.json. Must never know: other ecosystems.

mod runners;

use crate::files::RepositoryFiles;
use crate::grammar_kind::file_name;
use crate::language::{Facts, InstalledPrograms, Language, PackageSource};
use crate::not_loaded::NotLoaded;
use crate::project::{Detection, FoundProject};
use crate::script::ScriptCall;
use crate::stated::{self, StatedCommand, StatedReading, without_looks};
use crate::tool_facts::{SetupAction, ToolFacts};

const BIN: &str = "vendor/bin";

pub(crate) struct Php;

impl Language for Php {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sources: &["php"],
                unparsed: &[("PHP", &["php"])],
                configuration: &["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"],
                manifests: &["composer.json"],
                programs: &["php", "phpunit", "pest", "composer", "simple-phpunit"],
                tools: &[ToolFacts {
                    name: "php",
                    actions: &[SetupAction::new("shivammathur/setup-php", "php-version")],
                    ..ToolFacts::NONE
                }],
                packages: &[PackageSource {
                    signs: &["composer.json"],
                    programs: &["composer"],
                    hosts: &["packagist.org", "repo.packagist.org"],
                }],
                lockfiles: &["composer.lock"],
                decides: &[".php-version"],
                scripts: &["php"],
                dependency_folders: &["/vendor"],
                program_folders: &[InstalledPrograms {
                    folder: BIN,
                    made_by: &["composer install", "composer update"],
                }],
                runners: runners::RUNNERS,
                not_loaded: NOT_LOADED,
                surroundings: &[r"\b(?:stream_isatty|posix_isatty|debug_backtrace|PHPUNIT_\w+)\b"],
                ..Facts::NONE
            }
        }
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }

    fn unloaded(&self, lines: &[&str]) -> Vec<(usize, String)> {
        unloaded_by_phpunit(lines)
    }

    fn script(&self, words: &[&str], read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Option<ScriptCall> {
        runners::script(words, read)
    }
}

const NOT_LOADED: &[NotLoaded] = &[
    NotLoaded::base(r"(?:PHP )?(?:Fatal|Parse) error:"),
    NotLoaded::program(r"Call to undefined (?:function|method) (?:[\w\\]+::|(?:\w+\\)+)?(\w+)"),
    NotLoaded::program(r#"Class "(?:\w+\\)*(\w+)" not found"#),
    NotLoaded::program(r"Unknown named parameter \$(\w+)"),
    NotLoaded::program(r"^(?:ParseError|.*Parse error)"),
];

/// PHP says the same of a file that a test loads.
fn unloaded_by_phpunit(lines: &[&str]) -> Vec<(usize, String)> {
    let of_php = pattern!(r"^(?:(?:PHP )?Fatal error: +Uncaught .* in |Location: )/(?:\S+/)?(\S+\.php):\d+$");
    if !lines.iter().any(|line| line.contains(r"PHPUnit\Framework\TestSuite->addTestFile")) {
        return Vec::new();
    }
    let file = |(at, line): (usize, &&str)| Some((at, of_php.captures(line)?.get(1)?.as_str().to_owned()));
    lines.iter().enumerate().filter_map(file).collect()
}

fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let manifest = ask.files.json("composer.json")?;
    let mut found = FoundProject {
        what: "PHP with Composer",
        because: "composer.json".into(),
        search_path: vec![crate::planned::ProgramFolder::Tree(BIN.into())],
        variables: vec![("COMPOSER_HOME", "{home}/.config/composer"), ("COMPOSER_ALLOW_SUPERUSER", "1")],
        ..FoundProject::default()
    };
    ask.tools.need("php", "composer.json");
    ask.tools.need("composer", "composer.json");
    let because = if ask.files.has("composer.lock") { "composer.lock" } else { "composer.json" };
    // Without a root version, which git tags would give, packages that require the root cannot resolve.
    found.setup("composer install --no-interaction --no-progress --prefer-dist", because);
    found.notes.push(
        "Composer downloads packages from api.github.com and codeload.github.com, which sandbox.setup_network in \
         journeyman.toml has to name"
            .to_owned(),
    );
    let requires = |package: &str| {
        ["require-dev", "require"]
            .iter()
            .any(|key| manifest.get(*key).is_some_and(|all| all.get(package).is_some()))
    };
    let script = |name: &str| manifest.get("scripts").and_then(|scripts| scripts.get(name)).is_some();
    let files = ask.files;
    let read = |command: &StatedCommand| reading(command, files);
    let said = || stated::find(ask.steps, Vec::new(), files, &read);
    let configuration = ask.files.first(&["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"]);
    if requires("pestphp/pest") {
        found.test("vendor/bin/pest", "pestphp/pest in composer.json");
    } else if requires("phpunit/phpunit") || (configuration.is_some() && requires("symfony/phpunit-bridge")) {
        let program =
            if requires("phpunit/phpunit") { "vendor/bin/phpunit" } else { "vendor/bin/simple-phpunit" };
        let because = configuration.unwrap_or("phpunit/phpunit in composer.json").to_owned();
        let tests = if configuration.is_none() && ask.files.has("tests") { " tests" } else { "" };
        found.test(format!("{program}{tests}"), because);
    } else if let Some(name) =
        ["test", "tests", "phpunit", "test:unit", "unit"].into_iter().find(|name| script(name))
    {
        found.stated_test(format!("composer run-script {name}"), format!("a script {name} in composer.json"));
    } else if let Some((command, at)) = said() {
        found.stated_test(command.shell(), at);
    }
    Some(found)
}

/// What a command of a statement has to do with tests: a runner that the repository brings along, as it is none of its
/// requirements.
fn reading(command: &StatedCommand, files: &RepositoryFiles<'_>) -> StatedReading {
    let words = command.words();
    let words = words.strip_prefix(&["php"]).unwrap_or(&words);
    let Some((program, args)) = words.split_first() else { return StatedReading::Nothing };
    let path = program.trim_start_matches("./");
    let name = file_name(path).trim_end_matches(".phar");
    let is_runner = matches!(name, "phpunit" | "pest" | "simple-phpunit") && files.text(path).is_some();
    if !is_runner || !command.folder.is_empty() {
        return StatedReading::Nothing;
    }
    let words = ["php", path].into_iter().chain(without_looks(args));
    StatedReading::Tests(words.map(str::to_owned).collect())
}
