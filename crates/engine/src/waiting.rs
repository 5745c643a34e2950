//! Deliveries that cannot be concluded yet, by subject. Their bodies stay in the store until then.
//!
//! May know: ids of deliveries and of repositories. Must never know: what a delivery means, why it waits.

use std::collections::{BTreeMap, VecDeque};

use journeyman_order::RepositoryId;

/// What a delivery is about. Later deliveries on the same subject must not overtake it.
pub(super) type DeliverySubject = (RepositoryId, String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WaitingDelivery {
    pub(super) id: i64,
    pub(super) asks_github: bool,
}

/// All waiting deliveries. No queue is empty.
#[derive(Debug, Default)]
pub(super) struct WaitingDeliveries(BTreeMap<DeliverySubject, VecDeque<WaitingDelivery>>);

impl WaitingDeliveries {
    pub(super) fn is_held(&self, subject: &DeliverySubject) -> bool {
        self.0.contains_key(subject)
    }

    pub(super) fn push(&mut self, subject: DeliverySubject, delivery: WaitingDelivery) {
        self.0.entry(subject).or_default().push_back(delivery);
    }

    pub(super) fn firsts(&self) -> BTreeMap<i64, DeliverySubject> {
        self.0.keys().filter_map(|subject| Some((self.first(subject)?.id, subject.clone()))).collect()
    }

    pub(super) fn first(&self, subject: &DeliverySubject) -> Option<WaitingDelivery> {
        self.0.get(subject)?.front().copied()
    }

    pub(super) fn pop(&mut self, subject: &DeliverySubject) -> Option<WaitingDelivery> {
        let queue = self.0.get_mut(subject)?;
        queue.pop_front();
        let next = queue.front().copied();
        if next.is_none() {
            self.0.remove(subject);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_each_subject_comes_in_the_order_of_all() {
        let mut waiting = WaitingDeliveries::default();
        let [one, two] = ["issue 1", "issue 2"].map(|about| (RepositoryId(7), about.to_owned()));
        for (id, subject) in [(1, &two), (2, &one), (5, &two)] {
            waiting.push(subject.clone(), WaitingDelivery { id, asks_github: true });
        }
        assert_eq!(waiting.firsts().into_iter().collect::<Vec<_>>(), [(1, two.clone()), (2, one.clone())]);
        assert_eq!(waiting.pop(&two).map(|next| next.id), Some(5));
        assert_eq!(waiting.pop(&two), None);
        assert!(!waiting.is_held(&two) && waiting.is_held(&one));
    }
}
