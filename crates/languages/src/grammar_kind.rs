//! The grammars by which files are parsed.

use std::sync::LazyLock;

use tree_sitter::Language as Grammar;

/// The grammars by which files are parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GrammarKind {
    Rust,
    Python,
    /// Includes JSX, which the grammar supports.
    JavaScript,
    TypeScript,
    Tsx,
    Go,
    Java,
}

impl GrammarKind {
    pub fn loaded(self) -> &'static Grammar {
        static RUST: LazyLock<Grammar> = LazyLock::new(|| tree_sitter_rust::LANGUAGE.into());
        static PYTHON: LazyLock<Grammar> = LazyLock::new(|| tree_sitter_python::LANGUAGE.into());
        static JAVASCRIPT: LazyLock<Grammar> = LazyLock::new(|| tree_sitter_javascript::LANGUAGE.into());
        static TYPESCRIPT: LazyLock<Grammar> =
            LazyLock::new(|| tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into());
        static TSX: LazyLock<Grammar> = LazyLock::new(|| tree_sitter_typescript::LANGUAGE_TSX.into());
        static GO: LazyLock<Grammar> = LazyLock::new(|| tree_sitter_go::LANGUAGE.into());
        static JAVA: LazyLock<Grammar> = LazyLock::new(|| tree_sitter_java::LANGUAGE.into());
        match self {
            Self::Rust => &RUST,
            Self::Python => &PYTHON,
            Self::JavaScript => &JAVASCRIPT,
            Self::TypeScript => &TYPESCRIPT,
            Self::Tsx => &TSX,
            Self::Go => &GO,
            Self::Java => &JAVA,
        }
    }
}

pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
