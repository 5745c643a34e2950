use super::*;

#[test]
fn only_lines_that_are_new_or_edited_are_changed() {
    let before = b"a\nb\nc\nd\ne\n";
    assert_eq!(changed_lines(Some(before), b"a\nB\nc\nd\nx\ny\ne\n"), [2..=2, 5..=6]);
    assert_eq!(changed_lines(Some(before), b"a\nc\nd\ne\n"), []);
    assert_eq!(changed_lines(Some(before), before), []);
    assert_eq!(changed_lines(Some(b"a\0\n"), b"a\0\nb\n"), [2..=2]);
    assert_eq!(changed_lines(Some(b""), b"a\nb"), [1..=2]);
    assert_eq!(changed_lines(None, b"a\n"), [1..=u32::MAX]);
    assert_eq!(changed_lines(Some(before), b""), []);
}

#[test]
fn of_a_large_file_all_is_changed_between_the_first_and_the_last_line_that_is() {
    let row = "a row of a table\n";
    let large = |inner: &str| format!("{}{inner}{}", row.repeat(40_000), row.repeat(40_000)).into_bytes();
    let before = large("a\nb\nc\n");
    let changed = |after: &str| changed_lines(Some(&before), &large(after));
    assert_eq!(changed("a\nB\nc\n"), [40_002..=40_002]);
    assert_eq!(changed("A\nb\nC\nd\n"), [40_001..=40_004]);
    assert_eq!(changed("a\nc\n"), []);
    assert_eq!(changed_lines(Some(b"a\n"), &before).len(), 1);
    let one = "a".repeat(2 << 20);
    assert_eq!(changed_lines(Some(b"a\n"), one.as_bytes()), [1..=1]);
}
