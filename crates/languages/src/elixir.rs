//! Elixir projects: Mix, with ExUnit.
//!
//! May know: mix.exs. Must never know: other ecosystems.

use crate::counts::{RunnerSummary, last_of, number, summary};
use crate::language::{Facts, Language, PackageSource};
use crate::not_loaded::NotLoaded;
use crate::project::{Detection, FoundProject};
use crate::runner::{
    Asked, Helper, PrintedResult, RunnerCall, SelectedRun, SummaryForm, TestRunner, TestSelection, WordsPlace,
};
use crate::tool_facts::{SetupAction, ToolFacts};
use journeyman_order::TestCounts;
use journeyman_order::bounds::MOST_NAMED;

pub(crate) struct Elixir;

impl Language for Elixir {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sources: &["ex", "exs"],
                unparsed: &[("Elixir", &["ex", "exs"])],
                manifests: &["mix.exs"],
                programs: &["mix"],
                tools: &[ToolFacts {
                    name: "elixir",
                    programs: &["elixir", "mix"],
                    actions: &[SetupAction::new("erlef/setup-beam", "elixir-version")],
                    ..ToolFacts::NONE
                }],
                packages: &[PackageSource {
                    signs: &["mix.exs", "rebar.config"],
                    programs: &["mix", "rebar3"],
                    hosts: &["repo.hex.pm", "builds.hex.pm"],
                }],
                lockfiles: &["mix.lock", "rebar.lock"],
                dependency_folders: &["/deps"],
                surroundings: &[r"\bMix\.env\b"],
                not_loaded: &[NotLoaded::base(r"\*\* \((?:Compile|Syntax|TokenMissing)Error\) ")],
                runners: &[TestRunner {
                    name: "ex_unit",
                    runs: |words| words.starts_with(&["mix", "test"]),
                    ask: report,
                    select,
                    printed: Some(PrintedResult { read: ex_unit, form: SummaryForm::OneRun }),
                    ..TestRunner::NONE
                }],
                ..Facts::NONE
            }
        }
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        let manifest = ask.files.text("mix.exs")?;
        let mut found =
            FoundProject { what: "Elixir with Mix", because: "mix.exs".into(), ..FoundProject::default() };
        ask.tools.need("elixir", "mix.exs");
        // A dependency is a tuple that begins with its name.
        if pattern!(r#"\{\s*:\w+\s*,\s*(?:"|\w+:)"#).is_match(&manifest) || ask.files.has("mix.lock") {
            let because = if ask.files.has("mix.lock") { "mix.lock" } else { "mix.exs" };
            found.setup(
                "mix local.hex --force --if-missing && mix local.rebar --force --if-missing",
                "mix.exs",
            );
            found.setup("mix deps.get", because);
        }
        if ask.files.has("test") || ask.files.has("apps") {
            found.test("mix test", "mix.exs");
        }
        Some(found)
    }
}

/// Adds a formatter beside the one that prints. Mix has no option for that which keeps the formatters of the project.
const REPORT: &str = r##"defmodule JourneymanReport do
  @moduledoc false
  use GenServer

  @report String.replace_suffix(Path.dirname(__ENV__.file), "-helper", "")

  def init(_) do
    file = File.open!(@report, [:append, :utf8])
    IO.puts(file, ~s({"runner": "ex_unit"}))
    {:ok, file}
  end

  def handle_cast({:test_finished, %ExUnit.Test{} = test}, file) do
    path = Path.relative_to_cwd(test.tags.file)
    name = text("#{path} > #{inspect(test.module)} > #{test.name}")

    case test.state do
      # Its module failed, and it did not run.
      {:invalid, _} -> :ok
      nil -> IO.puts(file, ~s({"test": {"name": #{name}, "status": "passed"}}))
      {:failed, _} -> IO.puts(file, ~s({"test": {"name": #{name}, "status": "failed"}}))
      _ -> IO.puts(file, ~s({"test": {"name": #{name}, "status": "skipped"}}))
    end

    {:noreply, file}
  end

  def handle_cast({:module_finished, %{state: {:failed, _}} = module}, file) do
    IO.puts(file, ~s({"failed": #{text(inspect(module.name))}}))
    {:noreply, file}
  end

  def handle_cast(_, file), do: {:noreply, file}

  defp text(name) do
    escaped = for <<c::utf8 <- name>>, into: "", do: escape(c)
    "\"" <> escaped <> "\""
  end

  defp escape(c) when c in [?", ?\\], do: <<?\\, c>>
  defp escape(c) when c < 32, do: "\\u" <> String.pad_leading(Integer.to_string(c, 16), 4, "0")
  defp escape(c), do: <<c::utf8>>
end

Application.load(:ex_unit)
known = Application.get_env(:ex_unit, :formatters, [ExUnit.CLIFormatter])
Application.put_env(:ex_unit, :formatters, known ++ [JourneymanReport], persistent: true)
"##;

fn report(call: &RunnerCall<'_>) -> Asked {
    let Some(report) = call.report.filter(|_| !call.has(&["--formatter"])) else { return Asked::default() };
    let path = format!("{report}-helper/report.exs");
    let words = ["elixir", "-r", &shell_words::quote(&path), "-S", "mix"].map(str::to_owned);
    Asked {
        words: words.to_vec(),
        place: WordsPlace::Instead(1),
        report: Some(report.to_owned()),
        helpers: vec![Helper { path, text: REPORT }],
        ..Asked::default()
    }
}

fn select(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    // After the file and the module.
    let titles: Option<Vec<&str>> = selection.names.iter().map(|name| name.splitn(3, " > ").nth(2)).collect();
    let titles = titles.filter(|titles| titles.len() <= MOST_NAMED)?;
    let is_plain = |title: &&str| !title.contains(['\'', '\n', '\0', ':']);
    let options: Vec<String> = titles.iter().map(|title| format!("--only 'test:{title}'")).collect();
    titles.iter().all(is_plain).then(|| selection.with_words(&options.join(" "))).flatten()
}

/// `2 doctests, 7 tests, 1 failure, 1 excluded, 1 invalid, 1 skipped`
fn ex_unit(lines: &[&str]) -> Option<RunnerSummary> {
    let total = pattern!(
        r"^(?:(\d+) doctests?, )?(?:(\d+) propert(?:y|ies), )?(\d+) tests?, (\d+) failures?(?:, (\d+) excluded)?(?:, (\d+) invalid)?(?:, (\d+) skipped)?$"
    );
    let (line, found) = last_of(lines, |line| total.captures(line))?;
    let [doctests, properties, tests, failed, excluded, invalid, skipped] =
        [1, 2, 3, 4, 5, 6, 7].map(|group| number(&found, group));
    let all = doctests.saturating_add(properties).saturating_add(tests);
    let passed = [failed, excluded, invalid, skipped].into_iter().fold(all, u64::saturating_sub);
    // A module whose tests did not run has failed.
    let failed = failed.saturating_add(u64::from(invalid > 0));
    let counts = TestCounts { passed, failed, skipped: excluded.saturating_add(skipped) };
    Some(summary(counts, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_counted_by_its_last_line() {
        let counted = |line: &str| ex_unit(&["....", line]).and_then(|read| read.counts);
        let counts = |passed, failed, skipped| Some(TestCounts { passed, failed, skipped });
        assert_eq!(counted("3 tests, 0 failures"), counts(3, 0, 0));
        assert_eq!(counted("1 doctest, 7 tests, 1 failure, 1 invalid, 1 skipped"), counts(5, 2, 1));
        assert_eq!(counted("2 properties, 7 tests, 1 failure, 6 excluded"), counts(2, 1, 6));
        assert_eq!(counted("3 tests"), None);
    }
}
