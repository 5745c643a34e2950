//! Java and Kotlin projects: Maven and Gradle, with their wrappers.
//!
//! May know: pom.xml, build.gradle. Must never know: other ecosystems.

use crate::language::{Facts, Language};
use crate::project::{Detection, FoundProject};
use crate::test_call::{TestCall, joined};

pub(crate) struct Java;

impl Language for Java {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                name: "Java",
                sources: &["java", "kt", "kts", "scala", "groovy"],
                manifests: &["pom.xml", "build.gradle", "build.gradle.kts", "build.sbt"],
                programs: &["mvn", "mvnw", "gradle", "gradlew", "sbt"],
                ..Facts::NONE
            }
        }
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }

    fn reaches(&self, call: &TestCall<'_, '_>) -> bool {
        call.below.is_empty() || reaches(call)
    }
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
    // Java ignores HOME.
    let base = format!("{program} -B -ntp -Dmaven.repo.local=\"$HOME/.m2/repository\"");
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
const RESOLVE_ALL: &str = r#"cat > ~/.gradle/journeyman-resolve.gradle <<'END'
allprojects {
    task('journeymanResolve') {
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
             ~/.gradle/journeyman-resolve.gradle journeymanResolve"
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
