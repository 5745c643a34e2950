//! Assertions without brackets: commands of a shell, statements, and the open calls of Ruby and Perl.

use std::ops::Range;

use super::SourceScan;
use super::calls::is_helper;
use super::site::{AssertionKind, AssertionSite};
use crate::experiment::family::SourceLanguage;
use crate::experiment::text::is_bare;

impl SourceScan<'_> {
    /// In Python and Elixir: `assert …`.
    pub(super) fn statements(&self) -> Vec<AssertionSite> {
        let statements = pattern!(r"(?m)^[ \t]*assert[ \t(]");
        let found = statements.find_iter(self.text).filter_map(|found| {
            let word = found.start() + found.as_str().find("assert").unwrap_or(0);
            let said = self.is_code(word).then(|| self.statement(word + "assert".len()))?;
            let claim = self.split(&said).into_iter().next()?;
            Some(self.condition(self.without_brackets(claim)))
        });
        found.collect()
    }

    /// What stands in the brackets, if they are around the whole.
    fn without_brackets(&self, claim: Range<usize>) -> Range<usize> {
        let at = self.trimmed(&claim);
        let is_open = self.part(&at).starts_with('(');
        match is_open.then(|| self.arguments(at.start)).flatten().as_deref() {
            Some([inner]) if inner.end + 1 == at.end => inner.clone(),
            _ => claim,
        }
    }

    /// In Go: conditions of which the test fails.
    pub(super) fn failing_conditions(&self) -> Vec<AssertionSite> {
        let failing = pattern!(r"(?m)^[ \t]*if[ \t](.*)\{[ \t]*$");
        let fails = ["t.Error", "t.Fatal", "t.Fail", "b.Fatal", "panic("];
        let found = failing.captures_iter(self.text).filter_map(|found| {
            let (whole, condition) = (found.get(0)?, found.get(1)?.range());
            let body: String = self.text.get(whole.end()..)?.lines().take(4).collect();
            let is_joined = ["||", "&&"].iter().any(|word| self.find_top(&condition, word).is_some());
            let is_one = fails.iter().any(|word| body.contains(word)) && !is_joined;
            let at = self.find_top(&condition, "!=").filter(|at| is_one && self.is_code(*at))?;
            let from = self.text.get(condition.start..at).and_then(|left| left.rfind(';'));
            let left = condition.start + from.map_or(0, |from| from + 1)..at;
            Some(AssertionSite::of(AssertionKind::Equality, vec![left, at + 2..condition.end]))
        });
        found.collect()
    }

    /// In Ruby and Perl: calls whose arguments stand in no brackets.
    pub(super) fn open_calls(&self) -> Vec<AssertionSite> {
        let calls = pattern!(
            r"(?m)(?:^|[;{]|\bdo|\bthen|\belse)[ \t]*((?:assert|refute|check|expect|verify|should|ensure|must)\w*|is|ok|is_deeply|cmp_ok)[ \t]+([^\s=.)*/?<>&|])"
        );
        let of_perl = ["is", "ok", "is_deeply", "cmp_ok"];
        let found = calls.captures_iter(self.text).filter_map(|found| {
            let (name, first) = (found.get(1)?, found.get(2)?.start());
            let is_of_perl = self.language == SourceLanguage::Perl && of_perl.contains(&name.as_str());
            let is_one = self.is_code(name.start()) && (is_of_perl || is_helper(name.as_str()));
            let arguments = is_one.then(|| self.open_arguments(first))?;
            self.call(name.as_str(), name.start(), &arguments)
        });
        found.collect()
    }

    /// In RSpec and Minitest: `.to eq 5`, `.must_equal 5`.
    pub(super) fn ruby_matchers(&self) -> Vec<AssertionSite> {
        let asked =
            pattern!(r"\.(to|should|must_equal|must_be_same_as|must_include|must_match)\b[ \t]*(\(?)[ \t]*");
        let found = asked.captures_iter(self.text).filter_map(|found| {
            let (whole, word) = (found.get(0)?, found.get(1)?);
            let is_open = found.get(2).is_none_or(|bracket| bracket.is_empty());
            if !self.is_code(whole.start()) {
                return None;
            }
            if word.as_str().starts_with("must") {
                let arguments = match is_open {
                    true => self.open_arguments(whole.end()),
                    false => self.arguments(found.get(2)?.start())?,
                };
                let value = arguments.into_iter().next()?;
                return Some(AssertionSite::of(AssertionKind::Equality, vec![value]));
            }
            self.rspec_matcher(whole.end(), word.range())
        });
        found.collect()
    }

    /// The matcher that stands here, after `asked`: `to` or `should`.
    fn rspec_matcher(&self, at: usize, asked: Range<usize>) -> Option<AssertionSite> {
        let matchers = pattern!(
            r"^(==|(?:eq|eql|equal|match_array|contain_exactly|include|start_with|end_with|raise_error|be_\w+|be)\b)[ \t]*(\(?)"
        );
        let found = matchers.captures(self.text.get(at..)?)?;
        let (whole, name, bracket) = (found.get(0)?, found.get(1)?, found.get(2)?);
        if name.as_str().starts_with("be_") {
            let is_to = self.part(&asked) == "to";
            return is_to.then(|| AssertionSite::of(AssertionKind::Matcher, vec![asked]));
        }
        let arguments = match bracket.is_empty() {
            true => self.open_arguments(at + whole.end()),
            false => self.arguments(at + bracket.start())?,
        };
        if name.as_str() != "raise_error" {
            return Some(AssertionSite::of(AssertionKind::Equality, vec![arguments.last()?.clone()]));
        }
        let is_text = |side: &&Range<usize>| self.part(side).trim_start().starts_with(['"', '\'']);
        match arguments.iter().find(is_text) {
            Some(words) => Some(AssertionSite::of(AssertionKind::Words, vec![words.clone()])),
            None => Some(AssertionSite::of(AssertionKind::Error, vec![arguments.first()?.clone()])),
        }
    }

    /// Arguments up to the end of the statement, or to its block or condition.
    fn open_arguments(&self, from: usize) -> Vec<Range<usize>> {
        let statement = self.statement(from);
        let ends = [" do ", " do\n", " if ", " unless ", " {"];
        // A block may begin where the statement ends.
        let whole = from..(statement.end + 1).min(self.text.len());
        // Behind a comma, a brace begins a value.
        let is_end = |at: &usize| !self.before(*at).trim_end().ends_with(',');
        let end = ends.iter().filter_map(|word| self.find_top(&whole, word).filter(is_end)).min();
        self.split(&(from..end.unwrap_or(statement.end).min(statement.end)))
    }

    /// In shells: `[ a = b ]`, or a helper that is called with the expected value.
    pub(super) fn shell_commands(&self) -> Vec<AssertionSite> {
        let mut sites = Vec::new();
        let brackets = pattern!(
            r#"(?:\[\[?|\btest)[ \t]+(.+?)[ \t]+(?:==?|-eq|eq)[ \t]+("[^"\n]*"|'[^'\n]*'|[^\s\];]+)"#
        );
        for found in brackets.captures_iter(self.text) {
            if let (Some(whole), Some(value)) = (found.get(0), found.get(2))
                && self.is_code(whole.start())
                && !value.as_str().contains(['$', '*'])
            {
                let is_quoted = value.as_str().starts_with(['"', '\'']);
                let kind = if is_quoted { AssertionKind::Equality } else { AssertionKind::Word };
                sites.push(AssertionSite::of(kind, vec![value.range()]));
            }
        }
        let helpers = pattern!(
            r"(?m)^[ \t]*(?:assert\w*|check\w*|expect\w*|is|is_deeply|ok|eq|equals?|should\w*|verify\w*|t|run_case)[ \t]+(\S.*)$"
        );
        for found in helpers.captures_iter(self.text) {
            let (Some(whole), Some(rest)) = (found.get(0), found.get(1)) else { continue };
            let first = whole.start() + whole.as_str().len() - whole.as_str().trim_start().len();
            let is_definition = rest.as_str().starts_with("()") || rest.as_str().starts_with('=');
            if self.is_code(first) && !is_definition {
                sites.push(self.shell_helper(rest.start()));
            }
        }
        sites
    }

    /// A helper's last word without quotes is the expected value, if another word stands before it.
    fn shell_helper(&self, from: usize) -> AssertionSite {
        let statement = self.statement(from);
        let ends = ["&&", "|", " >", " <", " 2>"];
        let end = ends.iter().filter_map(|word| self.find_top(&statement, word)).min();
        let line = self.trimmed(&(from..end.unwrap_or(statement.end)));
        let mut words = Vec::new();
        let mut from = line.start;
        for (at, _) in self.top(&line).filter(|(_, byte)| byte.is_ascii_whitespace()) {
            words.push(from..at);
            from = at + 1;
        }
        words.push(from..line.end);
        let is_word = |at: &&Range<usize>| {
            let word = self.part(at);
            let is_option = word.starts_with('-') && word.trim_start_matches('-').parse::<f64>().is_err();
            is_bare(word) && !is_option && self.is_code(at.start)
        };
        match words.iter().skip(1).rev().find(is_word) {
            Some(word) => AssertionSite::of(AssertionKind::Word, vec![word.clone()]),
            None => AssertionSite::of(AssertionKind::Something, vec![line]),
        }
    }
}
