//! Ruby projects: Bundler, with RSpec, Minitest or a Rakefile.
//!
//! May know: Gemfile, gemspecs, Rakefile. Must never know: other ecosystems.

use regex::Regex;

use crate::language::{Facts, Language};
use crate::planned::{PlannedTest, SetupCommand};
use crate::project::{Detection, FoundProject};

pub(crate) struct Ruby;

impl Language for Ruby {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                name: "Ruby",
                sources: &["rb"],
                manifests: &["Gemfile", "*.gemspec"],
                programs: &["bundle", "rake", "rspec", "ruby", "rails"],
                ..Facts::NONE
            }
        }
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }
}

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
    let planned = |command: &str, because: &str| {
        // Native extensions must be compiled from the sources under test.
        let compile = if rake.contains("ExtensionTask") { "bundle exec rake compile && " } else { "" };
        Some(PlannedTest::new(format!("{compile}{command}"), because))
    };
    if files.has("bin/rails") && files.has("test") && !files.has("spec") {
        return planned("bin/rails test", "bin/rails");
    }
    if files.has(".rspec") || files.has("spec/spec_helper.rb") {
        return planned(
            "bundle exec rspec",
            if files.has(".rspec") { ".rspec" } else { "spec/spec_helper.rb" },
        );
    }
    let declares = |name: &str| {
        let task = Regex::new(&format!(
            r#"(task|TestTask\.new|RakeTask\.new|TestTask\.create)\s*\(?\s*[:"']?{name}\b"#
        ));
        task.is_ok_and(|task| task.is_match(rake))
    };
    let (name, _) = rakefile.as_ref()?;
    let because = format!("a task test in {name}");
    if declares("test")
        || rake.contains("TestTask.new do")
        || rake.contains("TestTask.new {")
        || rake.contains("TestTask.create")
    {
        return planned("bundle exec rake test", &because);
    }
    if declares("spec") {
        return planned("bundle exec rake spec", &format!("a task spec in {name}"));
    }
    (files.has("test") && rake.contains("Rails.application"))
        .then(|| planned("bundle exec rake test", &because))?
}
