//! A file's grammar, and whether its path indicates code.

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
    pub fn of(path: &str) -> Option<Self> {
        let (_, extension) = file_name(path).rsplit_once('.')?;
        Some(match extension {
            "rs" => Self::Rust,
            "py" | "pyi" => Self::Python,
            "js" | "jsx" | "mjs" | "cjs" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "go" => Self::Go,
            "java" => Self::Java,
            _ => return None,
        })
    }

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

/// Extensions of compiled code: it runs, but its source cannot be inspected.
const COMPILED: [&str; 12] =
    ["pyc", "pyo", "pyd", "so", "dll", "dylib", "node", "wasm", "class", "jar", "war", "exe"];

pub fn is_compiled_path(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    // A library may have a version suffix: `libsums.so.2`.
    let ending = name.rsplit('.').find(|part| !part.bytes().all(|byte| byte.is_ascii_digit()));
    name.contains('.')
        && ending.is_some_and(|ending| COMPILED.contains(&ending.to_ascii_lowercase().as_str()))
}

/// Whether a file is source in a language that is parsed here.
pub fn is_source_path(path: &str) -> bool {
    GrammarKind::of(path).is_some()
}

#[cfg(test)]
mod tests {
    use super::is_compiled_path;

    #[test]
    fn compiled_code_is_known_by_its_name() {
        for (path, expected) in [
            ("sums/_sizes.pyc", true),
            ("lib/libsums.so.2.1", true),
            ("web/app.WASM", true),
            ("sums/node.py", false),
            ("node", false),
            ("docs/class.md", false),
        ] {
            assert_eq!(is_compiled_path(path), expected, "{path}");
        }
    }
}
