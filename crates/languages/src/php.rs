//! PHP projects: Composer, with PHPUnit, Pest or a script.
//!
//! May know: composer.json. Must never know: other ecosystems.

use crate::language::{Facts, Language};
use crate::project::{Detection, FoundProject};

pub(crate) struct Php;

impl Language for Php {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                name: "PHP",
                sources: &["php"],
                manifests: &["composer.json"],
                programs: &["php", "phpunit", "pest", "composer", "simple-phpunit"],
                ..Facts::NONE
            }
        }
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }
}

fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let manifest = ask.files.json("composer.json")?;
    let mut found = FoundProject {
        what: "PHP with Composer",
        because: "composer.json".into(),
        search_path: vec![crate::planned::ProgramFolder::Tree("vendor/bin".into())],
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
        found.test(format!("composer run-script {name}"), format!("a script {name} in composer.json"));
    }
    Some(found)
}
