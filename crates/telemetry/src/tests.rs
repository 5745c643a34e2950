use std::collections::BTreeMap;
use std::path::Path;

use journeyman_order::{Journal, JournalEntry};

use super::{AgentFacts, spans_since};

#[test]
fn a_part_that_goes_on_after_its_end_is_another_span_at_its_next_end() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../order/journals/2026-11-24");
    let mut again = 0;
    for file in std::fs::read_dir(kept).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|kind| kind != "jsonl") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let entries = text.lines().map(|line| serde_json::from_str::<JournalEntry>(line).unwrap());
        let journal = Journal::new(entries.collect()).unwrap();
        let spans = spans_since(&journal, 0, &|_| AgentFacts::default());
        let mut names = BTreeMap::new();
        for span in &spans {
            assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
            let twice = names.insert(span.span_id.clone(), span.name.clone());
            assert_eq!(twice, None, "{} twice in {}", span.name, file.display());
        }
        let mut parts: Vec<_> = spans.iter().filter(|span| span.name.starts_with("stage ")).collect();
        let all = parts.len();
        parts.sort_by_key(|span| &span.name);
        parts.dedup_by_key(|span| &span.name);
        again += all - parts.len();
    }
    assert!(again > 0, "no stage of these orders ended twice");
}
