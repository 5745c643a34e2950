//! The languages of test files: for each a row that says how its comments, texts and assertions are written.

use TokenKind::{Code, Comment, Delimited, Heredoc, Line, Plain, RawString, Text, Twice};

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
    Tcl,
    Ruby,
    Perl,
    Elixir,
    Shell,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Comment,
    /// A string that is its value: nothing is put into it, and it is no character, symbol or command.
    Plain,
    /// Any other text. It is never edited.
    Text,
    /// Looks like the beginning of a text, and is none.
    Code,
    /// A text up to the partner of its last byte.
    Delimited,
    /// The same with a second part: `s/a/b/`.
    Twice,
    /// A raw string of C++, up to its own delimiter.
    RawString,
    /// Announces a text that begins below its line.
    Heredoc,
    /// Where that text begins.
    Line,
}

/// A pattern of what stands before a token, and one of the token.
///
/// `CODE}`, `CODE)` and `CODE]` stand for code up to that bracket, or up to the end of the file if it is too deep to be
/// read, and `CLASS` for a class of a pattern. What can begin in many places has a token for where it does not end, so
/// that its end is not looked for again and again.
type Token = (TokenKind, &'static str, &'static str);

/// Where assertions are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AssertionFinder {
    Calls,
    OpenCalls,
    Statements,
    FailingConditions,
    TestMacros,
    RubyMatchers,
    ShellCommands,
}

pub(super) struct Lexis {
    language: SourceLanguage,
    family: LanguageFamily,
    /// How the names of its files end.
    endings: &'static str,
    /// What the first line of its scripts mentions.
    program: Option<&'static str>,
    /// Of those that can begin at one place, the first is meant.
    pub(super) tokens: &'static [Token],
    pub(super) finders: &'static [AssertionFinder],
    /// The last character of a line whose statement goes on: a comma only where arguments stand in no brackets.
    pub(super) continues: &'static [char],
    /// What follows a type of which a value is made, and what stands before it.
    pub(super) made: &'static [&'static str],
}

const SLASHES: Token = (Comment, "", r"//[^\n]*|/\*.*?(?:\*/|\z)");
const NESTED_SLASHES: Token = (Comment, "", r"//[^\n]*|/\*(?:/\*(?:/\*.*?\*/|.)*?\*/|.)*?(?:\*/|\z)");
const HASH: Token = (Comment, "", r"#[^\n]*");
const HASH_WORD: Token = (Comment, r"(?m:^)|[\s;)}\],(]", r"#[^\n]*");
/// A macro is no test.
const DIRECTIVE: Token = (Text, "", r"(?m:^)[ \t]*#(?:\\\r?\n|[^\n])*");

const STRING: Token = (Plain, "", r#""(?:\\.|[^"\\\n])*""#);
const CHARACTER: Token = (Text, "", r"'(?:\\.|[^'\\\n])*'");
/// With one quote, it is a lifetime or a symbol.
const ONE_CHARACTER: Token = (Text, "", r"'(?:\\.[^'\n]*|[^'\\\n\x80-\xff]|[\x80-\xff]{2,4})'");
const QUOTED_NAME: Token = (Text, "", r"`[^`\n]*`");
/// A quote that is not closed in its line begins no string.
const LONE_QUOTE: Token = (Code, "", r#"["'][^\n]*"#);
const OPEN_BLOCK: Token = (Text, "", r#"""".*"#);

const SINGLE_QUOTED: Token = (Plain, "", r"'(?:\\.|[^'\\])*'");
const OPEN_SINGLE_QUOTED: Token = (Text, "", r"'.*");
const RUBY_STRING: Token = (Plain, "", r##""(?:\\.|[^"\\#]|#[^{"\\])*""##);
const FILLED_RUBY_STRING: Token = (Text, "", r##""(?:\\.|#\{CODE}|[^"\\])*(?:"|\z)"##);
const SYMBOL: Token = (Delimited, r"\B:", r#"["']"#);
const RUBY_CHARACTER: Token = (Code, "", r##"\B\?["'`#/]|\$["'`]"##);
const COMMAND: Token = (Delimited, "", "`");

const LINE: Token = (Line, "", r"\n");
const INDENTED_HEREDOC: Token = (Heredoc, "", r#"<<[~-]["'`]?[A-Za-z_]\w*["'`]?"#);
/// `list <<value` adds.
const BARE_HEREDOC: Token =
    (Heredoc, r#"(?m:^)|[^\w<"'`]"#, r#"<<(?:[A-Z_]\w*|"[A-Za-z_]\w*"|'[A-Za-z_]\w*')"#);
const DATA: Token = (Text, "", r"(?m:^)__(?:END|DATA)__[ \t\r]*(?:\n.*|\z)");

const PATTERN: &str = r"/(?:\\.|CLASS|[^/\\\n\[*])(?:\\.|CLASS|[^/\\\n\[])*/";
const OPEN_PATTERN: &str = r"/[^/*\n][^\n]*";
const AFTER_JAVASCRIPT: &str = concat!(
    r"(?:\A|[(,=:\[!&|?{;+\-*%~^>]",
    r"|\b(?:return|typeof|case|in|of|delete|void|throw|new|do|else|await|yield))\s*",
);
const AFTER_RUBY: &str = concat!(
    r"(?:(?m:^)|[(,=:\[!&|?{;+\-*%~^<>]",
    r"|\b(?:return|when|if|unless|while|until|and|or|not|elsif|then|in|split|grep))\s*",
);
const BEFORE_QUOTE_LIKE: &str = r#"(?m:^)|[^\w$@%&>{"'`-]"#;
/// A pattern may be an argument without brackets.
const AFTER_NAME: &str = r"[A-Za-z_]\w*[ \t]+";

const CALLED: &[&str] = &["(", "{", "::new(", "::from(", ".of("];
const NEW: &[&str] = &["new (", "new <"];

const C_TOKENS: &[Token] = &[
    DIRECTIVE,
    SLASHES,
    (RawString, r"\b(?:u8|[LuU])?R", r#""[^()\\\s"]{0,16}\("#),
    (Plain, "", r#"(?:\b(?:u8|[LuU]))?"(?:\\.|[^"\\\n])*""#),
    // In 1'000'000 it is no quote.
    (Code, "", r"\b[0-9](?:'?\w)*"),
    CHARACTER,
    LONE_QUOTE,
];

const DART_TOKENS: &[Token] = &[
    NESTED_SLASHES,
    (Plain, "", r#"\br(?:""".*?"""|'''.*?'''|"[^"\n]*"|'[^'\n]*')"#),
    (Plain, "", r#""""(?:\\.|[^\\$])*?"""|'''(?:\\.|[^\\$])*?'''"#),
    (Text, "", r#""""(?:\\.|\$\{CODE}|[^\\])*?(?:"""|\z)|'''(?:\\.|\$\{CODE}|[^\\])*?(?:'''|\z)"#),
    (Plain, "", r#""(?:\\.|[^"\\\n$])*"|'(?:\\.|[^'\\\n$])*'"#),
    (Text, "", r#""(?:\\.|\$\{CODE}|[^"\\\n])*(?:"|\z)|'(?:\\.|\$\{CODE}|[^'\\\n])*(?:'|\z)"#),
    LONE_QUOTE,
];

const fn row(language: SourceLanguage, family: LanguageFamily, endings: &'static str) -> Lexis {
    Lexis {
        language,
        family,
        endings,
        program: None,
        tokens: &[],
        finders: &[AssertionFinder::Calls],
        continues: &['\\'],
        made: CALLED,
    }
}

/// In the order of the languages.
static ROWS: [Lexis; 20] = [
    Lexis {
        program: Some("python"),
        tokens: &[
            HASH,
            (Text, "", r#"\b(?:[fFtT][rR]?|[rR][fFtT])"""(?:\\.|\{\{|\{CODE}|[^\\{])*?(?:"""|\z)"#),
            (Text, "", r"\b(?:[fFtT][rR]?|[rR][fFtT])'''(?:\\.|\{\{|\{CODE}|[^\\{])*?(?:'''|\z)"),
            (Text, "", r#"\b(?:[fFtT][rR]?|[rR][fFtT])"(?:\\.|\{\{|\{CODE}|[^"\\\n{])*(?:"|\z)"#),
            (Text, "", r"\b(?:[fFtT][rR]?|[rR][fFtT])'(?:\\.|\{\{|\{CODE}|[^'\\\n{])*(?:'|\z)"),
            (Plain, "", r#"(?:\b[rRbBuU]{1,2})?(?:"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?''')"#),
            (Text, "", r#"(?:"""|''').*"#),
            (Plain, "", r#"(?:\b[rRbBuU]{1,2})?(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"#),
            LONE_QUOTE,
        ],
        finders: &[AssertionFinder::Statements, AssertionFinder::Calls],
        ..row(SourceLanguage::Python, LanguageFamily::Python, "py pyi")
    },
    Lexis {
        tokens: &[
            NESTED_SLASHES,
            (Plain, "", r##"\b[bc]?r(?:"[^"]*"|#".*?"#)"##),
            (Text, "", r###"\b[bc]?r(?:##".*?"##|#*".*)"###),
            (Plain, "", r#"(?:\b[bc])?"(?:\\.|[^"\\])*""#),
            (Text, "", r#"".*"#),
            ONE_CHARACTER,
        ],
        finders: &[AssertionFinder::TestMacros, AssertionFinder::Calls],
        ..row(SourceLanguage::Rust, LanguageFamily::Rust, "rs")
    },
    Lexis {
        program: Some("node"),
        tokens: &[
            SLASHES,
            (Text, AFTER_JAVASCRIPT, PATTERN),
            (Code, AFTER_JAVASCRIPT, OPEN_PATTERN),
            (Plain, "", r#""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\$])*`"#),
            // A tag changes it.
            (Text, r"[\w)\]]?", r"`(?:\\.|\$\{CODE}|[^`\\])*(?:`|\z)"),
            LONE_QUOTE,
        ],
        made: NEW,
        ..row(SourceLanguage::JavaScript, LanguageFamily::JavaScript, "js jsx mjs cjs ts tsx mts cts")
    },
    Lexis {
        tokens: &[SLASHES, STRING, CHARACTER, (Plain, "", r"`[^`]*`"), (Text, "", r"`.*"), LONE_QUOTE],
        finders: &[AssertionFinder::FailingConditions, AssertionFinder::Calls],
        made: &["{"],
        ..row(SourceLanguage::Go, LanguageFamily::Go, "go")
    },
    Lexis { tokens: C_TOKENS, made: &[], ..row(SourceLanguage::C, LanguageFamily::C, "c h m") },
    Lexis { tokens: C_TOKENS, ..row(SourceLanguage::Cpp, LanguageFamily::C, "cc cpp cxx hpp mm") },
    Lexis {
        tokens: &[
            SLASHES,
            (Plain, "", r#""""(?:\\.|[^\\])*?""""#),
            OPEN_BLOCK,
            STRING,
            CHARACTER,
            LONE_QUOTE,
        ],
        made: NEW,
        ..row(SourceLanguage::Java, LanguageFamily::C, "java")
    },
    Lexis {
        tokens: &[
            NESTED_SLASHES,
            (Plain, "", r#""""[^$]*?""""#),
            (Text, "", r#""""(?:\$\{CODE}|.)*?(?:"""|\z)"#),
            (Plain, "", r#""(?:\\.|[^"\\\n$])*""#),
            (Text, "", r#""(?:\\.|\$\{CODE}|[^"\\\n])*(?:"|\z)"#),
            CHARACTER,
            QUOTED_NAME,
            LONE_QUOTE,
        ],
        ..row(SourceLanguage::Kotlin, LanguageFamily::C, "kt kts")
    },
    Lexis {
        tokens: &[
            DIRECTIVE,
            SLASHES,
            (Text, "", r#"(?:\$@|@\$)"(?:""|\{\{|\{CODE}|[^"{])*(?:"|\z)"#),
            (Text, "", r#"\$*(?:""""+.*|""".*?(?:"""|\z))"#),
            (Text, "", r#"\$"(?:\\.|\{\{|\{CODE}|[^"\\\n{])*(?:"|\z)"#),
            (Plain, "", r#"@"(?:""|[^"])*""#),
            (Text, "", r#"@".*"#),
            STRING,
            CHARACTER,
            LONE_QUOTE,
        ],
        made: NEW,
        ..row(SourceLanguage::CSharp, LanguageFamily::C, "cs")
    },
    Lexis {
        tokens: &[
            NESTED_SLASHES,
            (Plain, "", r#""""(?:\\[^(]|[^\\])*?""""#),
            (Text, "", r#""""(?:\\\(CODE)|\\.|[^\\])*?(?:"""|\z)"#),
            (Plain, "", r#""(?:\\[^(]|[^"\\\n])*""#),
            (Text, "", r#""(?:\\\(CODE)|\\.|[^"\\\n])*(?:"|\z)"#),
            QUOTED_NAME,
            LONE_QUOTE,
        ],
        ..row(SourceLanguage::Swift, LanguageFamily::C, "swift")
    },
    Lexis {
        program: Some("php"),
        tokens: &[
            (Text, "", r"(?:\A|\?>).*?(?:<\?(?:php)?|\z)"),
            LINE,
            SLASHES,
            (Comment, "", r"#[^\[\n][^\n]*"),
            (Heredoc, "", r#"<<<[ \t]*["']?[A-Za-z_]\w*["']?\r?(?m:$)"#),
            SINGLE_QUOTED,
            OPEN_SINGLE_QUOTED,
            (Plain, "", r#""(?:\\.|[^"\\$])*""#),
            (Text, "", r#""(?:\\.|\{\$CODE}|[^"\\])*(?:"|\z)"#),
            COMMAND,
        ],
        made: NEW,
        ..row(SourceLanguage::Php, LanguageFamily::C, "php")
    },
    Lexis {
        tokens: &[
            NESTED_SLASHES,
            (Text, "", r#"\b[A-Za-z_]\w*"""(?:\$\{CODE}|.)*?(?:"""|\z)"#),
            (Text, "", r#"\b[A-Za-z_]\w*"(?:\\.|\$\{CODE}|[^"\\\n])*(?:"|\z)"#),
            (Plain, "", r#"""".*?""""#),
            OPEN_BLOCK,
            STRING,
            (Code, "", r#""[^\n]*"#),
            ONE_CHARACTER,
            QUOTED_NAME,
        ],
        ..row(SourceLanguage::Scala, LanguageFamily::C, "scala")
    },
    Lexis { tokens: DART_TOKENS, made: NEW, ..row(SourceLanguage::Groovy, LanguageFamily::C, "groovy") },
    Lexis { tokens: DART_TOKENS, ..row(SourceLanguage::Dart, LanguageFamily::C, "dart") },
    Lexis {
        tokens: &[SLASHES, STRING, CHARACTER, (Text, "", r"\\\\[^\n]*"), LONE_QUOTE],
        made: &[],
        ..row(SourceLanguage::Zig, LanguageFamily::C, "zig")
    },
    Lexis {
        program: Some("tclsh"),
        tokens: &[
            (Code, "", r#"\\.|\w""#),
            HASH_WORD,
            (Plain, "", r#""(?:\\.|[^"\\$\[])*""#),
            (Text, "", r#""(?:\\.|\[CODE]|[^"\\])*(?:"|\z)"#),
        ],
        finders: &[AssertionFinder::ShellCommands],
        made: &[],
        ..row(SourceLanguage::Tcl, LanguageFamily::Shell, "tcl")
    },
    Lexis {
        program: Some("ruby"),
        tokens: &[
            LINE,
            (Comment, "", r"(?m:^)=begin.*?(?:\n=end[^\n]*|\z)"),
            DATA,
            RUBY_CHARACTER,
            HASH,
            INDENTED_HEREDOC,
            BARE_HEREDOC,
            (Delimited, r#"(?m:^)|[^\w)\]}"']"#, r"%[wWiIqQrsx][!-/:-<>-@\[-`{-~]"),
            (Delimited, r"(?:(?m:^)|[=(,\[{|&!?:;+<>~-])\s*", r"%[(\[{<|!]"),
            (Text, AFTER_RUBY, PATTERN),
            (Text, r"[(=,|]\s*", r"/(?:\\.|[^/\\])*(?:/|\z)"),
            (Code, AFTER_RUBY, OPEN_PATTERN),
            (Text, AFTER_NAME, r"/(?:\\.|CLASS|[^\s=/\\\[])(?:\\.|CLASS|[^/\\\n\[])*/"),
            (Code, AFTER_NAME, r"/[^\s=/][^\n]*"),
            SYMBOL,
            SINGLE_QUOTED,
            OPEN_SINGLE_QUOTED,
            RUBY_STRING,
            FILLED_RUBY_STRING,
            COMMAND,
        ],
        finders: &[AssertionFinder::OpenCalls, AssertionFinder::RubyMatchers, AssertionFinder::Calls],
        continues: &['\\', ','],
        made: &[".new"],
        ..row(SourceLanguage::Ruby, LanguageFamily::Shell, "rb")
    },
    Lexis {
        program: Some("perl"),
        tokens: &[
            LINE,
            (Comment, "", r"(?m:^)=[A-Za-z].*?(?:\n=cut[^\n]*|\z)"),
            DATA,
            HASH,
            INDENTED_HEREDOC,
            BARE_HEREDOC,
            (Delimited, BEFORE_QUOTE_LIKE, r##"(?:q[qwr]?|m)(?:\s*[/(\[{<|!~"'`]|#)"##),
            (Twice, BEFORE_QUOTE_LIKE, r##"(?:s|tr|y)(?:\s*[/(\[{<|!~"'`]|#)"##),
            (Text, AFTER_RUBY, PATTERN),
            (Code, AFTER_RUBY, OPEN_PATTERN),
            (Code, "", r##"[$&@]["'`#]|\w'"##),
            SINGLE_QUOTED,
            OPEN_SINGLE_QUOTED,
            (Plain, "", r#""(?:\\.|[^"\\$@])*""#),
            (Text, "", r#""(?:\\.|[^"\\])*(?:"|\z)"#),
            COMMAND,
        ],
        finders: &[AssertionFinder::OpenCalls, AssertionFinder::Calls],
        continues: &['\\', ','],
        made: &[],
        ..row(SourceLanguage::Perl, LanguageFamily::Shell, "pl t")
    },
    Lexis {
        program: Some("elixir"),
        tokens: &[
            RUBY_CHARACTER,
            HASH,
            (Text, "", r#"~[A-Za-z]+(?:""".*?(?:"""|\z)|'''.*?(?:'''|\z))"#),
            (Delimited, "", r#"~[A-Za-z]+[/(\[{<|"']"#),
            SYMBOL,
            (Plain, "", r##""""(?:\\.|[^\\#]|#[^{\\"])*?""""##),
            (Text, "", r##""""(?:\\.|#\{CODE}|[^\\])*?(?:"""|\z)"##),
            RUBY_STRING,
            FILLED_RUBY_STRING,
            (Text, "", r"'''.*?(?:'''|\z)|'(?:\\.|#\{CODE}|[^'\\])*(?:'|\z)"),
        ],
        finders: &[AssertionFinder::Statements, AssertionFinder::Calls],
        continues: &['\\', ','],
        made: &["{"],
        ..row(SourceLanguage::Elixir, LanguageFamily::Shell, "exs")
    },
    Lexis {
        program: Some("sh"),
        tokens: &[
            LINE,
            (Code, "", r"\\.|<<<"),
            HASH_WORD,
            (Heredoc, "", r#"<<-?[ \t]*(?:\\?[A-Za-z_]\w*|"[A-Za-z_]\w*"|'[A-Za-z_]\w*')"#),
            (Text, "", r"\$'(?:\\.|[^'\\])*(?:'|\z)"),
            (Plain, "", r"'[^']*'"),
            OPEN_SINGLE_QUOTED,
            (Plain, "", r#""(?:\\.|[^"\\$`])*""#),
            (Text, "", r#""(?:\\.|\$\(CODE)|[^"\\])*(?:"|\z)"#),
        ],
        finders: &[AssertionFinder::ShellCommands],
        made: &[],
        ..row(SourceLanguage::Shell, LanguageFamily::Shell, "sh bash bats zsh test")
    },
];

impl SourceLanguage {
    pub(super) fn lexis(self) -> &'static Lexis {
        &ROWS[self as usize]
    }

    /// By the ending of its name. A name without one is a shell script.
    fn named(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let Some((_, ending)) = name.rsplit_once('.') else { return Some(Self::Shell) };
        let ending = ending.to_ascii_lowercase();
        ROWS.iter().find(|row| row.endings.split(' ').any(|known| known == ending)).map(|row| row.language)
    }

    /// By its name, and where that does not tell, by the program that the first line names.
    pub(super) fn of(path: &str, text: &str) -> Option<Self> {
        let named = Self::named(path)?;
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_open = !name.contains('.') || name.ends_with(".t") || name.ends_with(".test");
        let first = text.lines().next().filter(|line| is_open && line.starts_with("#!")).unwrap_or_default();
        let told = ROWS.iter().find(|row| row.program.is_some_and(|program| first.contains(program)));
        Some(told.map_or(named, |row| row.language))
    }

    /// Whether a line is a command whose words are texts without quotes.
    pub(super) fn is_of_words(self) -> bool {
        self.lexis().finders.contains(&AssertionFinder::ShellCommands)
    }

    /// What begins a comment up to the end of the line.
    pub(super) fn remark(self) -> &'static str {
        let has_hash = matches!(self.lexis().family, LanguageFamily::Python | LanguageFamily::Shell);
        if has_hash { "#" } else { "//" }
    }
}

impl LanguageFamily {
    pub(super) fn of(path: &str) -> Option<Self> {
        SourceLanguage::named(path).map(|language| language.lexis().family)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_the_language_where_the_name_does_not() {
        for (row, language) in ROWS.iter().zip(0..) {
            assert_eq!(row.language as usize, language, "a row stands where its language does");
        }
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
