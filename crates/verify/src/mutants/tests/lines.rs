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
fn a_line_is_found_in_ranges_of_any_order() {
    let lines = LineRanges::of(&[9..=12, 1..=2, 2..=4, 11..=20, RangeInclusive::new(7, 6)]);
    let has: Vec<u32> = (0..=22).filter(|line| lines.has(*line)).collect();
    assert_eq!(has, [1, 2, 3, 4, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
}
