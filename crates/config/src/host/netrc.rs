//! `~/.netrc`: names and passwords by host.

/// What it has for a host: the first that fits, a default last.
pub(super) fn login(text: &str, host: &str) -> Option<(String, String)> {
    let mut words = text.lines().flat_map(words).peekable();
    let (mut is_ours, mut user, mut password) = (false, None, None);
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" => {
                if is_ours && let (Some(user), Some(password)) = (user.take(), password.take()) {
                    return Some((user, password));
                }
                (user, password) = (None, None);
                is_ours = word == "default" || words.next() == Some(host);
            }
            "login" => user = words.next().map(str::to_owned),
            "password" => password = words.next().map(str::to_owned),
            "account" => drop(words.next()),
            // What comes after is a script.
            "macdef" => break,
            _ => {}
        }
    }
    if is_ours { user.zip(password) } else { None }
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_comment = line.trim_start().starts_with('#');
    line.split_whitespace().filter(move |_| !is_comment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_found_by_its_host() {
        let text = "# machine a.example login x password y\nmachine a.example\n  login ada\n  password p1\n\
                    machine b.example login bob account z password p2\n\
                    machine half.example login only\ndefault login guest password p3\n\
                    macdef init\nmachine c.example login no password no\n";
        for (host, user, password) in [
            ("a.example", "ada", "p1"),
            ("b.example", "bob", "p2"),
            ("half.example", "guest", "p3"),
            ("c.example", "guest", "p3"),
        ] {
            assert_eq!(login(text, host), Some((user.to_owned(), password.to_owned())), "{host}");
        }
        assert_eq!(login("machine a.example login ada", "a.example"), None);
        assert_eq!(login("", "a.example"), None);
    }
}
