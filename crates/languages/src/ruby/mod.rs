//! Ruby projects: Bundler, with RSpec, Minitest or a Rakefile.
//!
//! May know: Gemfile, gemspecs, Rakefile. Must never know: other ecosystems.

mod runners;

use regex::Regex;

use crate::language::{Facts, Language, PackageSource, PackedFiles};
use crate::not_loaded::NotLoaded;
use crate::planned::{PlannedTest, SetupCommand};
use crate::project::{Detection, FoundProject};
use crate::stated::{self, StatedCommand, StatedReading};
use crate::tool_facts::{SetupAction, ToolFacts};

pub(crate) struct Ruby;

impl Language for Ruby {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sources: &["rb"],
                unparsed: &[("Ruby", &["rb"])],
                // Rake loads what is in rakelib by itself. Elsewhere, as in lib/tasks, a task is the program's own code.
                configuration: &[".rspec", ".rspec-local", "Rakefile", "Rakefile.rb", "rakelib/*.rake"],
                manifests: &["Gemfile", "*.gemspec"],
                programs: &["bundle", "rake", "rspec", "ruby", "rails"],
                tools: &[ToolFacts {
                    name: "ruby",
                    actions: &[SetupAction {
                        installs: |input| {
                            let is_cached = input("bundler-cache").is_some_and(|value| value == "true");
                            is_cached.then_some("bundle install")
                        },
                        ..SetupAction::new("ruby/setup-ruby", "ruby-version")
                    }],
                    version_files: &[".ruby-version"],
                    ..ToolFacts::NONE
                }],
                packages: &[PackageSource {
                    signs: &["Gemfile", "*.gemspec"],
                    programs: &["bundle", "bundler", "gem"],
                    hosts: &["rubygems.org", "index.rubygems.org"],
                }],
                lockfiles: &["Gemfile.lock"],
                scripts: &["rb"],
                dependency_folders: &["/vendor/bundle", "/.bundle"],
                protected: &[".bundle/config", ".gemrc"],
                told: &["Rakefile"],
                packed: Some(PackedFiles {
                    by: "RubyGems",
                    manifest: r".*\.gemspec",
                    list: r#"timeout -k 1 20 ruby -e 'puts Gem::Specification.load(Dir["*.gemspec"].first).files'"#,
                    installed: "",
                    below: "gems",
                }),
                runners: runners::RUNNERS,
                missing: &[r"^.*Could not (?:find|resolve) gem.*$"],
                not_loaded: NOT_LOADED,
                surroundings: &[r"\b(?:caller_locations|PROGRAM_NAME)\b|\btty\?"],
                ..Facts::NONE
            }
        }
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }
}

const NOT_LOADED: &[NotLoaded] = &[
    NotLoaded::part(r"^An error occurred while loading (?:\./)?(\S+?)\.$"),
    NotLoaded::base(r".*cannot load such file -- "),
    NotLoaded::program(r"undefined (?:local variable or )?method [`'](\w+)[?!=]?'"),
    NotLoaded::program(r"uninitialized constant (?:\w+::)*(\w+)"),
    NotLoaded::program(r"unknown keywords?: :(\w+)"),
    NotLoaded::program(r"^.*: syntax error"),
];

fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    ask.files.text("Gemfile")?;
    let lock = ask.files.text("Gemfile.lock");
    let mut found = FoundProject {
        what: "Ruby with Bundler",
        because: "Gemfile".into(),
        variables: vec![("BUNDLE_PATH", "vendor/bundle")],
        ..FoundProject::default()
    };
    ask.tools.need("ruby", "Gemfile");
    ask.tools.need("bundle", "Gemfile");
    let because = if lock.is_some() { "Gemfile.lock" } else { "Gemfile" };
    found.setup.push(SetupCommand { command: "bundle install".into(), because: because.into() });
    found.test = test(ask);
    Some(found)
}

fn test(ask: &Detection<'_, '_>) -> Option<PlannedTest> {
    let files = ask.files;
    let rakefile =
        ["Rakefile", "rakefile", "Rakefile.rb"].into_iter().find_map(|name| Some((name, files.text(name)?)));
    let rake = rakefile.as_ref().map_or("", |(_, text)| text.as_str());
    // Native extensions must be compiled from the sources under test.
    let compile = if rake.contains("ExtensionTask") { "bundle exec rake compile && " } else { "" };
    let planned = |command: &str, because: &str, is_stated: bool| {
        Some(PlannedTest { is_stated, ..PlannedTest::new(format!("{compile}{command}"), because) })
    };
    // RSpec and Rails name their tests, and can run some alone. A task of Rake hides which of them it starts.
    if files.has("bin/rails") && files.has("test") && !files.has("spec") {
        return planned("bin/rails test", "bin/rails", false);
    }
    if files.has(".rspec") || files.has("spec/spec_helper.rb") {
        let because = if files.has(".rspec") { ".rspec" } else { "spec/spec_helper.rb" };
        return planned("bundle exec rspec", because, false);
    }
    let declares = |name: &str| {
        let task = Regex::new(&format!(
            r#"(task|TestTask\.new|RakeTask\.new|TestTask\.create)\s*\(?\s*[:"']?{name}\b"#
        ));
        task.is_ok_and(|task| task.is_match(rake))
    };
    let name = rakefile.as_ref().map_or("", |(name, _)| *name);
    let of_task =
        |task: &str| planned(&format!("bundle exec rake {task}"), &format!("a task {task} in {name}"), true);
    if declares("test")
        || rake.contains("TestTask.new do")
        || rake.contains("TestTask.new {")
        || rake.contains("TestTask.create")
    {
        return of_task("test");
    }
    if declares("spec") {
        return of_task("spec");
    }
    if files.has("test") && rake.contains("Rails.application") {
        return of_task("test");
    }
    if let Some((command, at)) = stated::find(ask.steps, Vec::new(), files, &reading) {
        return planned(&command.shell(), &at, true);
    }
    // What it depends on says whether it is for tests or only checks the style.
    let default = pattern!(r"(?m)^\s*task[ (]+:?default\b.*\b(?:test|spec|minitest)");
    default
        .is_match(rake)
        .then(|| planned("bundle exec rake", &format!("the default task in {name}"), true))?
}

/// What a command of a statement has to do with tests.
fn reading(command: &StatedCommand) -> StatedReading {
    let words = command.words();
    let words = words.strip_prefix(&["bundle", "exec"]).unwrap_or(&words);
    let is_of_tests =
        pattern!(r"^(rake$|(bin/)?rspec\b|(rake|ruby) .*(test|spec))").is_match(&words.join(" "));
    // Another folder is another project.
    if !command.folder.is_empty() || !is_of_tests {
        return StatedReading::Nothing;
    }
    let bundle = ["bundle", "exec"].iter().chain(words);
    StatedReading::Tests(bundle.map(|word| (*word).to_owned()).collect())
}
