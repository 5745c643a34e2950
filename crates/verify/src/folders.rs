//! Test commands that change into folders first: `cd backend && pytest`, or several such commands in parentheses.
//!
//! May know: the words of a shell command. Must never know: what runs there.

use journeyman_order::settings::plain_folder;

/// A command, and the folder that it runs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FolderCommand<'a> {
    /// Relative to the root. Empty for the root itself.
    pub(crate) folder: String,
    /// The text before the command: `cd`, and exports.
    pub(crate) before: &'a str,
    pub(crate) command: &'a str,
}

impl FolderCommand<'_> {
    /// A path in the folder, relative to the root.
    pub(crate) fn path(&self, name: &str) -> String {
        match self.folder.is_empty() {
            true => name.to_owned(),
            false => format!("{}/{name}", self.folder),
        }
    }
}

/// The commands in a sequence: `(cd a && x) && (cd b && y)` has two. A command that cannot be split is one command in
/// the root.
pub(crate) fn commands_in_folders(command: &str) -> Vec<FolderCommand<'_>> {
    let whole = command.trim();
    if !whole.starts_with('(') {
        return vec![in_folder(whole)];
    }
    let several = groups(whole).filter(|groups| !groups.is_empty());
    several.map_or_else(
        || vec![FolderCommand { folder: String::new(), before: "", command }],
        |groups| groups.into_iter().map(in_folder).collect(),
    )
}

/// The groups in parentheses, if there is nothing but `&&` between them.
fn groups(text: &str) -> Option<Vec<&str>> {
    let (mut groups, mut rest) = (Vec::new(), text);
    loop {
        let inner = rest.strip_prefix('(')?;
        let end = group_end(inner)?;
        groups.push(inner.get(..end)?.trim());
        rest = inner.get(end + 1..)?.trim_start();
        if rest.is_empty() {
            return Some(groups);
        }
        rest = rest.strip_prefix("&&")?.trim_start();
    }
}

/// The end of a group. Parentheses in quotes do not count.
fn group_end(inner: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in inner.char_indices() {
        match (quote, c) {
            (_, '\\' | '`' | '#') => return None,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => return Some(at),
            (None, ')') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

fn in_folder(text: &str) -> FolderCommand<'_> {
    let at_root = FolderCommand { folder: String::new(), before: "", command: text };
    let Some((folder, mut rest)) = text.strip_prefix("cd ").and_then(|text| text.split_once("&&")) else {
        return at_root;
    };
    let Some(folder) = plain_folder(folder.trim()) else { return at_root };
    rest = rest.trim_start();
    while let Some((_, after)) = rest
        .strip_prefix("export ")
        .and_then(|text| text.split_once("&&"))
        .filter(|(export, _)| export.matches('"').count() == 2)
    {
        rest = after.trim_start();
    }
    let before = text.len() - rest.len();
    FolderCommand { folder, before: text.get(..before).unwrap_or_default(), command: rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(command: &str) -> Vec<(String, String)> {
        commands_in_folders(command).into_iter().map(|one| (one.folder, one.command.to_owned())).collect()
    }

    #[test]
    fn a_command_says_into_which_folders_it_goes() {
        let own = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            all.iter().map(|(folder, command)| ((*folder).to_owned(), (*command).to_owned())).collect()
        };
        for (command, expected) in [
            ("pytest -q", own(&[("", "pytest -q")])),
            ("cd backend && pytest -q", own(&[("backend", "pytest -q")])),
            ("cd ./a/b/ && npm test", own(&[("a/b", "npm test")])),
            ("cd a//./b && npm test", own(&[("a/b", "npm test")])),
            ("cd . && npm test", own(&[("", "npm test")])),
            ("(cd a && make) && (cd b && go test ./...)", own(&[("a", "make"), ("b", "go test ./...")])),
            ("(cd a && make && (true)) && (pytest)", own(&[("a", "make && (true)"), ("", "pytest")])),
            (
                "cd a && export X=\"$PWD/.venv\" && export PATH=\"$PWD/.venv/bin:$PATH\" && pytest",
                own(&[("a", "pytest")]),
            ),
            ("(cd a && pytest -k 'x)y')", own(&[("a", "pytest -k 'x)y'")])),
            // A path outside, or an unclear one, makes it an ordinary command.
            ("cd .. && pytest", own(&[("", "cd .. && pytest")])),
            ("cd /tmp && pytest", own(&[("", "cd /tmp && pytest")])),
            ("cd \"a b\" && pytest", own(&[("", "cd \"a b\" && pytest")])),
            ("(cd a && x) || (cd b && y)", own(&[("", "(cd a && x) || (cd b && y)")])),
            ("(cd a && x", own(&[("", "(cd a && x")])),
        ] {
            assert_eq!(told(command), expected, "{command}");
        }
    }
}
