use super::*;

const SOURCE: &str = "def f(a, b):\n    c = a < b and b > 3\n    d = a + b\n    e = a - b\n    return c\n";

fn places(most: usize, lines: &[RangeInclusive<u32>]) -> Vec<(u32, String)> {
    mutants("a.py", SOURCE.as_bytes(), lines, most)
        .unwrap_or_default()
        .into_iter()
        .map(|one| (one.line, one.what))
        .collect()
}

#[test]
fn each_line_has_one_before_any_has_two() {
    let lines: Vec<u32> = places(5, &[1..=5]).into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, [2, 3, 4, 5, 2]);
    let few: Vec<u32> = places(2, &[1..=5]).into_iter().map(|(line, _)| line).collect();
    assert_eq!(few, [2, 4]);
    assert_eq!(places(0, &[1..=5]), []);
}

#[test]
fn lines_that_did_not_change_have_none() {
    assert_eq!(places(9, &[4..=4]), [(4, "`-` became `+`".to_owned())]);
    assert_eq!(places(9, &[]), []);
}

#[test]
fn a_mutant_is_the_file_with_one_mistake() {
    let found = mutants("a.py", SOURCE.as_bytes(), &[3..=3], 9).unwrap_or_default();
    let applied = found[0].apply(SOURCE.as_bytes());
    assert_eq!(String::from_utf8_lossy(&applied), SOURCE.replace("a + b", "a - b"));
    assert_eq!(found[0].apply(b"short"), b"short");
}

#[test]
fn other_languages_have_none() {
    for path in ["a.c", "a.txt", "Makefile", "a.pyi"] {
        assert!(mutants(path, b"int a = 1 < 2;", &[1..=1], 9).unwrap_or_default().is_empty(), "{path}");
    }
}

#[test]
fn a_file_with_very_many_places_is_mutated_in_its_last_lines_as_well() {
    let text = "a = b < c\n".repeat(20_000);
    let found = mutants("a.py", text.as_bytes(), &[1..=u32::MAX], 12).unwrap_or_default();
    let lines: Vec<u32> = found.iter().map(|one| one.line).collect();
    assert!(lines.len() == 12 && lines[0] < 100 && lines[11] > 18_000, "{lines:?}");
}

#[test]
fn a_table_of_data_leaves_room_for_the_code_beside_it() {
    let rows: String = (0..2_000).map(|at| format!("    'name {at}': ({at}, 'a currency'),\n")).collect();
    let text = format!("{SOURCE}\n\nTABLE = {{\n{rows}}}\n");
    let found = mutants("a.py", text.as_bytes(), &[1..=u32::MAX], 12).unwrap_or_default();
    let of_code = found.iter().filter(|one| one.line <= 5).count();
    assert!(found.len() == 12 && of_code >= 3, "{found:?}");
}
