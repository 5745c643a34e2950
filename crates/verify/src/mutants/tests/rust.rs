use super::are;

#[test]
fn mistakes_in_rust() {
    are(
        "src/lib.rs",
        r#"
use std::fmt;
pub const MOST: usize = 7;
#[derive(Debug)]
#[cfg(feature = "a")]
pub struct Limits { pub names: [u8; 4], pub pair: (u8, u8) }

pub fn within(limits: &Limits, value: i64, name: &str) -> bool {
    tracing::info!("asked {}", 1 + 2);
    if value < -1 && !name.is_empty() {
        return false;
    }
    while value > limits.pair.0 as i64 {
        limits.note(name)?;
        if name == "last" { break; }
        continue;
    }
    value as usize >= limits.names.len() || name.starts_with("x")
}

pub fn named(value: u32) -> Option<String> {
    match value {
        0 => None,
        n if n % 2 == 0 => Some("even".to_owned()),
        _ => Some(format!("{}", value * 3)),
    }
}

pub fn joined(one: String, two: &str) -> String {
    let mut out = one + two;
    out += "a";
    out += &one;
    if let Some(c) = two.chars().next() { out.push(c); }
    out.parse::<u32>().expect("a number");
    out
}

unsafe fn raw(a: u32) -> u32 { a + 1 }

#[test]
fn a_test() { assert!(1 < 2); let a = 1 + 1; }

#[cfg(test)]
/// With words.
#[allow(dead_code)]
mod tests {
    fn helper(a: u32) -> u32 { a + 1 }
}
"#,
        &[
            "3 `7` became `6`",
            "10 `value < -1 && !name.is_empty()` became `false`",
            "10 `value < -1 && !name.is_empty()` became `true`",
            "10 `<` became `<=`",
            "10 `<` became `>=`",
            "10 `-` was removed",
            "10 `1` became `2`",
            "10 `&&` became `||`",
            "10 `!` was removed",
            "11 `false` became `true`",
            "13 `>` became `<=`",
            "13 `>` became `>=`",
            "14 `limits.note(name)?;` was removed",
            r#"15 `name == "last"` became `false`"#,
            r#"15 `name == "last"` became `true`"#,
            "15 `==` became `!=`",
            r#"15 `"last"` became `""`"#,
            "15 `break` became `continue`",
            "16 `continue` became `break`",
            "18 the returned `value as usize >= limits.names.len() || …` became `false`",
            "18 the returned `value as usize >= limits.names.len() || …` became `true`",
            "18 `>=` became `>`",
            "18 `||` became `&&`",
            r#"18 `"x"` became `""`"#,
            "22 the returned `match value { 0 => None, n if n % 2 == 0…` became `None`",
            "24 `n % 2 == 0` became `false`",
            "24 `n % 2 == 0` became `true`",
            "24 `%` became `*`",
            "24 `2` became `3`",
            "24 `==` became `!=`",
            "24 `0` became `1`",
            r#"31 `"a"` became `""`"#,
            "33 `out.push(c);` was removed",
            r#"34 `out.parse::<u32>().expect("a number");` was removed"#,
            "35 the returned `out` became `String::new()`",
        ],
    );
}

#[test]
fn a_file_for_tests_has_none() {
    are("src/helpers.rs", "#![cfg(test)]\nfn a(b: u32) -> u32 { b + 1 }\n", &[]);
}

#[test]
fn a_cast_is_not_followed_by_what_begins_a_type() {
    are(
        "src/a.rs",
        "fn a(b: u8, c: u32) -> u32 { if b as u32 > c { c } else { b as u32 >> c } }",
        &[
            "1 the returned `if b as u32 > c { c } else { b as u32 >>…` became `0`",
            "1 `b as u32 > c` became `false`",
            "1 `b as u32 > c` became `true`",
            "1 `>` became `>=`",
        ],
    );
}

#[test]
fn a_field_that_a_function_sets_is_left_as_it_was() {
    are(
        "src/a.rs",
        "fn a(&mut self, b: u8) { self.c = b; d = b; self.list.push(b) }",
        &["1 `self.c = b;` was removed"],
    );
}
