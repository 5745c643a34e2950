//! What runs now for each order: its tests, and what is installed for them. It is kept in memory alone, and may be lost.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use chrono::{DateTime, Utc};

use journeyman_order::OrderId;

type ShownRun = (Option<OrderId>, String, DateTime<Utc>);

/// All clones show what runs for all orders, and since when.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProgressBoard {
    /// Whose runs this clone shows.
    pub(crate) order: Option<OrderId>,
    shown: Arc<Mutex<Vec<Weak<ShownRun>>>>,
}

impl ProgressBoard {
    /// Shows that this runs, for as long as the answer lives.
    pub(crate) fn show(&self, what: String) -> Arc<ShownRun> {
        let run = Arc::new((self.order, what, Utc::now()));
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.retain(|other| other.strong_count() > 0);
        shown.push(Arc::downgrade(&run));
        run
    }

    /// What began last of what runs for an order, and when.
    pub(crate) fn now(&self, order: OrderId) -> Option<(String, DateTime<Utc>)> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let run = shown.iter().rev().filter_map(Weak::upgrade).find(|run| run.0 == Some(order))?;
        Some((run.1.clone(), run.2))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn of_what_runs_for_an_order_the_latest_is_shown_until_it_ends() {
        let board = ProgressBoard::default();
        let [order, another] = [1, 2].map(|number| OrderId(Uuid::from_u128(number)));
        let [own, other] = [order, another].map(|of| ProgressBoard { order: Some(of), ..board.clone() });
        let shown = || board.now(order).map(|(what, _)| what);

        let tests = own.show("tests: the base's tests on the base's code".to_owned());
        let setup = own.show("setup: make deps".to_owned());
        let _of_other = other.show("tests: the change's tests on the base's code".to_owned());

        assert_eq!(shown().as_deref(), Some("setup: make deps"));
        drop(setup);
        assert_eq!(shown().as_deref(), Some("tests: the base's tests on the base's code"));
        drop(tests);
        assert_eq!(shown(), None);
    }
}
