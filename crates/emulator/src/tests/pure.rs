//! The small functions that take text from outside.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::api::decode;
use crate::mutations::pulls::closing_references;
use crate::reply::{EmulatedReplyBody, page};

#[test]
fn a_merge_closes_what_its_text_says_and_nothing_else() {
    for (text, closed) in [
        ("Closes #7", vec![7]),
        ("fixes: #7.\nResolves #8, and Fixed #9!", vec![7, 8, 9]),
        ("see #7", vec![]),
        ("closes 7", vec![]),
        ("Closes octo/other#7", vec![]),
        ("Closes #", vec![]),
        ("closes #99999999999999999999999", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(closing_references(text), closed, "{text:?}");
    }
}

fn items(count: usize, query: &[(&str, String)]) -> (Vec<Value>, Option<String>) {
    let query: Vec<(String, String)> =
        query.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let reply = page((0..count).map(|at| json!(at)).collect(), "http://h/x", &query);
    match reply.body {
        EmulatedReplyBody::Json(Value::Array(list)) => (list, reply.link),
        other
        @ (EmulatedReplyBody::Json(_) | EmulatedReplyBody::Nothing | EmulatedReplyBody::Redirect(_)) => {
            panic!("no list: {other:?}")
        }
    }
}

proptest! {
    #[test]
    fn any_segment_is_decoded_somehow(segment in "[%a-f0-9+é]{0,30}") {
        let _ = decode(&segment);
    }

    #[test]
    fn the_pages_together_are_the_list(count in 0_usize..250, per_page in 0_usize..120) {
        let mut all = Vec::new();
        let mut at = 1_usize;
        loop {
            let (list, link) = items(count, &[("per_page", per_page.to_string()), ("page", at.to_string())]);
            prop_assert!(list.len() <= 100);
            all.extend(list);
            if !link.is_some_and(|link| link.contains("rel=\"next\"")) {
                break;
            }
            at += 1;
        }
        prop_assert_eq!(all, (0..count).map(|at| json!(at)).collect::<Vec<_>>());
    }

    #[test]
    fn no_page_number_breaks_the_paging(page in any::<String>(), per_page in any::<i64>()) {
        let _ = items(5, &[("page", page), ("per_page", per_page.to_string())]);
        let _ = items(5, &[("page", usize::MAX.to_string()), ("per_page", "100".to_owned())]);
    }
}
