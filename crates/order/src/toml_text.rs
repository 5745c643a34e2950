//! TOML from strangers: limits on what a parser may expand.

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// Bytes of a file.
const LARGEST: usize = 4 << 20;
/// Dots in one key: each one nests a table, which costs stack when dropped.
const DEEPEST: usize = 16;
/// Tables and lists; each takes hundreds of bytes, however short it is written.
const MOST_TABLES: usize = 100_000;
/// Keys with a value.
const MOST_VALUES: usize = 500_000;

/// Whether a text is small enough to parse. It may still be invalid TOML.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others make nothing")]
pub fn is_modest_toml(text: &str) -> bool {
    if text.len() > LARGEST {
        return false;
    }
    let (mut depth, mut tables, mut values) = (0, 0, 0);
    Source::new(text).lex().all(|token| {
        match token.kind() {
            TokenKind::Dot => (depth, tables) = (depth + 1, tables + 1),
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => (depth, tables) = (0, tables + 1),
            TokenKind::Equals => (depth, values) = (0, values + 1),
            TokenKind::Comma
            | TokenKind::RightSquareBracket
            | TokenKind::RightCurlyBracket
            | TokenKind::Newline => depth = 0,
            _ => {}
        }
        depth <= DEEPEST && tables <= MOST_TABLES && values <= MOST_VALUES
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_becomes_much_of_little_is_not_parsed_and_any_honest_file_is() {
        let lock = "[[package]]\nname = \"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s\" # 1.2.3.4.5.6.7.8.9\nversion = '1.2.3'\n\
                    wheels = [\n  { url = \"https://a.b/c\", size = 1.5 },\n]\n\n[package.extras.test.\"x.y\"]\na = 1\n";
        for (text, is) in [
            (lock.repeat(5_000), true),
            (String::new(), true),
            ("[tool.hatch.envs.test.overrides.matrix.python]\n".to_owned(), true),
            (format!("{}b = 1\n", "a.".repeat(40)), false),
            (format!("[{}b]\n", "'a' . ".repeat(40)), false),
            (format!("x = {{ {}b = 1 }}\n", "\"a\".".repeat(40)), false),
            ("a.b.c.d.e.f.g = 1\n".repeat(50_000), false),
            ("[[a]]\n".repeat(60_000), false),
            (format!("x = [{}]", "{},".repeat(200_000)), false),
            ("a=1\n".repeat(600_000), false),
            (" ".repeat(LARGEST + 1), false),
        ] {
            assert_eq!(is_modest_toml(&text), is, "{}", &text[..text.len().min(60)]);
        }
    }
}
