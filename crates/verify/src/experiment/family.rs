//! The languages of test files, and families of them with similar syntax.

/// How the comments, strings and assertions of a test file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceLanguage {
    Python,
    Rust,
    /// And TypeScript.
    JavaScript,
    Go,
    /// And Objective-C.
    C,
    Cpp,
    Java,
    Kotlin,
    CSharp,
    Swift,
    Php,
    Scala,
    Groovy,
    Dart,
    Zig,
    Shell,
    Tcl,
    Ruby,
    Perl,
    Elixir,
}

impl SourceLanguage {
    /// By the ending of its name. A name without one is a shell script.
    fn named(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let Some((_, ending)) = name.rsplit_once('.') else { return Some(Self::Shell) };
        Some(match ending.to_ascii_lowercase().as_str() {
            "py" | "pyi" => Self::Python,
            "rs" => Self::Rust,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Self::JavaScript,
            "go" => Self::Go,
            "c" | "h" | "m" => Self::C,
            "cc" | "cpp" | "cxx" | "hpp" | "mm" => Self::Cpp,
            "java" => Self::Java,
            "kt" | "kts" => Self::Kotlin,
            "cs" => Self::CSharp,
            "swift" => Self::Swift,
            "php" => Self::Php,
            "scala" => Self::Scala,
            "groovy" => Self::Groovy,
            "dart" => Self::Dart,
            "zig" => Self::Zig,
            "sh" | "bash" | "bats" | "zsh" | "test" => Self::Shell,
            "tcl" => Self::Tcl,
            "rb" => Self::Ruby,
            "pl" | "t" => Self::Perl,
            "exs" => Self::Elixir,
            _ => return None,
        })
    }

    /// By its name, and where that does not tell, by the program that the first line names.
    pub(super) fn of(path: &str, text: &str) -> Option<Self> {
        const PROGRAMS: [(&str, SourceLanguage); 8] = [
            ("python", SourceLanguage::Python),
            ("perl", SourceLanguage::Perl),
            ("ruby", SourceLanguage::Ruby),
            ("node", SourceLanguage::JavaScript),
            ("php", SourceLanguage::Php),
            ("tclsh", SourceLanguage::Tcl),
            ("elixir", SourceLanguage::Elixir),
            ("sh", SourceLanguage::Shell),
        ];
        let named = Self::named(path)?;
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_open = !name.contains('.') || name.ends_with(".t") || name.ends_with(".test");
        let first = text.lines().next().filter(|line| is_open && line.starts_with("#!")).unwrap_or_default();
        let told = PROGRAMS.iter().find(|(program, _)| first.contains(program));
        Some(told.map_or(named, |(_, language)| *language))
    }

    /// Whether a line is a command whose words are texts without quotes.
    pub(super) fn is_of_words(self) -> bool {
        matches!(self, Self::Shell | Self::Tcl)
    }

    /// What begins a comment up to the end of the line.
    pub(super) fn remark(self) -> &'static str {
        let has_hash = self == Self::Python || self.family() == LanguageFamily::Shell;
        if has_hash { "#" } else { "//" }
    }

    fn family(self) -> LanguageFamily {
        match self {
            Self::Python => LanguageFamily::Python,
            Self::Rust => LanguageFamily::Rust,
            Self::JavaScript => LanguageFamily::JavaScript,
            Self::Go => LanguageFamily::Go,
            Self::C
            | Self::Cpp
            | Self::Java
            | Self::Kotlin
            | Self::CSharp
            | Self::Swift
            | Self::Php
            | Self::Scala
            | Self::Groovy
            | Self::Dart
            | Self::Zig => LanguageFamily::C,
            Self::Shell | Self::Tcl | Self::Ruby | Self::Perl | Self::Elixir => LanguageFamily::Shell,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LanguageFamily {
    Python,
    Rust,
    JavaScript,
    Go,
    /// With braces and types.
    C,
    /// Languages in which a line can be a command.
    Shell,
}

impl LanguageFamily {
    pub(super) fn of(path: &str) -> Option<Self> {
        SourceLanguage::named(path).map(SourceLanguage::family)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_the_language_where_the_name_does_not() {
        for (path, text, language) in [
            ("t/a.t", "#!/bin/sh\n", Some(SourceLanguage::Shell)),
            ("t/a.t", "use strict;\n", Some(SourceLanguage::Perl)),
            ("test/run", "#!/usr/bin/env ruby\n", Some(SourceLanguage::Ruby)),
            ("test/run", "set -e\n", Some(SourceLanguage::Shell)),
            ("a_test.rb", "#!/bin/sh\n", Some(SourceLanguage::Ruby)),
            ("rows.csv", "", None),
        ] {
            assert_eq!(SourceLanguage::of(path, text), language, "{path} {text}");
        }
        assert_eq!(LanguageFamily::of("a_test.rb"), Some(LanguageFamily::Shell));
    }
}
