//! Rust's text as words and signs, without comments and the insides of literals. Coarser than the compiler's, but
//! it sees into macros, which a syntax tree does not.

/// A word or a sign, and the line that it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// An identifier, `::`, or a single sign. Literals are `"`, and strings keep their text behind it.
    pub text: String,
    /// From 1.
    pub line: usize,
}

/// Every token of a file.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut reader = Reader { characters: text.chars().collect(), at: 0, line: 1 };
    let mut tokens = Vec::new();
    while let Some(character) = reader.peek(0) {
        let line = reader.line;
        let text = match character {
            '/' if reader.peek(1) == Some('/') => {
                reader.skip_while(|c| c != '\n');
                continue;
            }
            '/' if reader.peek(1) == Some('*') => {
                reader.skip_block_comment();
                continue;
            }
            '"' => reader.string(),
            '\'' => reader.character_or_lifetime(),
            c if c.is_alphanumeric() || c == '_' => reader.word(),
            ':' if reader.peek(1) == Some(':') => {
                reader.advance(2);
                "::".to_owned()
            }
            c => {
                reader.advance(1);
                if c.is_whitespace() {
                    continue;
                }
                c.to_string()
            }
        };
        tokens.push(Token { text, line });
    }
    tokens
}

struct Reader {
    characters: Vec<char>,
    at: usize,
    line: usize,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    fn advance(&mut self, count: usize) {
        for _ in 0..count {
            self.line += usize::from(self.peek(0) == Some('\n'));
            self.at += 1;
        }
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.peek(0).is_some_and(&wanted) {
            self.advance(1);
        }
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0_usize;
        while self.peek(0).is_some() {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => {
                    depth += 1;
                    self.advance(2);
                }
                (Some('*'), Some('/')) => {
                    depth -= 1;
                    self.advance(2);
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.advance(1),
            }
        }
    }

    fn skip_quoted(&mut self, quote: char) {
        self.advance(1);
        while let Some(character) = self.peek(0) {
            self.advance(if character == '\\' { 2 } else { 1 });
            if character == quote {
                return;
            }
        }
    }

    fn string(&mut self) -> String {
        let start = self.at;
        self.skip_quoted('"');
        self.characters.get(start..self.at.saturating_sub(1)).unwrap_or_default().iter().collect()
    }

    /// `'a'` is a literal, `'a` a lifetime.
    fn character_or_lifetime(&mut self) -> String {
        if self.peek(1) == Some('\\') || self.peek(2) == Some('\'') {
            self.skip_quoted('\'');
            return "\"".to_owned();
        }
        self.advance(1);
        self.skip_while(|c| c.is_alphanumeric() || c == '_');
        "'".to_owned()
    }

    /// An identifier, or a literal that begins like one: `r"…"`, `r#"…"#`, `b"…"`, `br#"…"#`, `b'…'`.
    fn word(&mut self) -> String {
        let start = self.at;
        self.skip_while(|c| c.is_alphanumeric() || c == '_');
        let word: String = self.characters.get(start..self.at).unwrap_or_default().iter().collect();
        let hashes = (0..).take_while(|ahead| self.peek(*ahead) == Some('#')).count();
        match word.as_str() {
            "r" | "br" | "cr" if self.peek(hashes) == Some('"') => {
                self.advance(hashes + 1);
                let is_end = |reader: &Self| {
                    reader.peek(0) == Some('"') && (1..=hashes).all(|ahead| reader.peek(ahead) == Some('#'))
                };
                while self.peek(0).is_some() && !is_end(self) {
                    self.advance(1);
                }
                self.advance(hashes + 1);
                "\"".to_owned()
            }
            "b" | "c" if self.peek(0) == Some('"') => {
                self.skip_quoted('"');
                "\"".to_owned()
            }
            "b" if self.peek(0) == Some('\'') => {
                self.skip_quoted('\'');
                "\"".to_owned()
            }
            _ => word,
        }
    }
}
