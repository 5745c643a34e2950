//! Families of languages with similar syntax.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LanguageFamily {
    Python,
    Rust,
    JavaScript,
    Go,
    /// With braces and types: C, C++, Java, Kotlin, C#, Swift, PHP, Scala.
    C,
    /// Languages in which a line is a command: shell, Perl, Tcl, Ruby.
    Shell,
}

impl LanguageFamily {
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let Some((_, ending)) = name.rsplit_once('.') else { return Some(Self::Shell) };
        Some(match ending.to_ascii_lowercase().as_str() {
            "py" | "pyi" => Self::Python,
            "rs" => Self::Rust,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Self::JavaScript,
            "go" => Self::Go,
            "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "java" | "kt" | "kts" | "cs" | "swift" | "php"
            | "scala" | "groovy" | "m" | "mm" | "dart" | "zig" => Self::C,
            "sh" | "bash" | "bats" | "zsh" | "t" | "pl" | "tcl" | "rb" | "test" | "exs" => Self::Shell,
            _ => return None,
        })
    }

    pub(super) fn has_hash_comments(self) -> bool {
        match self {
            Self::Python | Self::Shell => true,
            Self::Rust | Self::JavaScript | Self::Go | Self::C => false,
        }
    }
}
