//! Counts, and how much they mean. Pure.

use serde::{Deserialize, Serialize};

/// 95 % of a normal distribution is within this many standard deviations.
const Z95: f64 = 1.959_963_984_540_054;

/// A proportion with its 95 % interval (Wilson).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Proportion {
    pub(super) count: u64,
    pub(super) of: u64,
    /// From 0 to 1; 0 of 0 is 0.
    pub(super) rate: f64,
    /// The start of the interval.
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Proportion {
    pub(super) fn new(count: u64, of: u64) -> Self {
        let (low, high) = wilson(count, of);
        let rate = if of == 0 { 0.0 } else { count as f64 / of as f64 };
        Self { count, of, rate, low, high }
    }

    pub(super) fn counted(&self) -> String {
        if self.of == 0 { "none".to_owned() } else { format!("{} of {}", self.count, self.of) }
    }

    pub(super) fn percent(&self) -> String {
        if self.of == 0 { "–".to_owned() } else { percent(self.rate) }
    }

    /// The interval in percent; empty without data.
    pub(super) fn interval(&self) -> String {
        match self.of {
            0 => String::new(),
            _ => format!("{:.1} – {:.1} %", 100.0 * self.low, 100.0 * self.high),
        }
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Wilson's interval; 0 to 1 without data.
fn wilson(count: u64, of: u64) -> (f64, f64) {
    if of == 0 {
        return (0.0, 1.0);
    }
    let (n, z2) = (of as f64, Z95 * Z95);
    let p = count as f64 / n;
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z95 / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    // At the ends, rounding would leave a residue of an exact 0 or 1.
    let low = if count == 0 { 0.0 } else { (middle - half).max(0.0) };
    let high = if count >= of { 1.0 } else { (middle + half).min(1.0) };
    (low, high)
}

/// Three standard deviations of a share among `of` draws with this probability.
pub(super) fn three_deviations(probability: f64, of: u64) -> f64 {
    if of == 0 { 1.0 } else { 3.0 * (probability * (1.0 - probability) / of as f64).max(0.0).sqrt() }
}

/// The distribution of some numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Distribution {
    pub(super) count: u64,
    pub(super) total: f64,
    /// Their mean; 0 if there are none.
    pub(super) mean: f64,
    /// Half of them are at most this.
    pub(super) median: f64,
    /// Nine of ten are at most this.
    pub(super) p90: f64,
    pub(super) max: f64,
}

impl Distribution {
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let total = values.iter().fold(0.0, |sum, value| sum + value);
        Self {
            count: values.len() as u64,
            total,
            mean: if values.is_empty() { 0.0 } else { total / values.len() as f64 },
            median: quantile(&values, 0.5),
            p90: quantile(&values, 0.9),
            max: values.last().copied().unwrap_or_default(),
        }
    }
}

/// The smallest of the sorted values that this share of them does not exceed.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wilsons_interval_is_the_published_one() {
        // Newcombe 1998, Statistics in Medicine 17, table I, method 3.
        for (count, of, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let share = Proportion::new(count, of);
            assert!((share.low - low).abs() < 5e-5 && (share.high - high).abs() < 5e-5, "{share:?}");
        }
        assert_eq!(Proportion::new(0, 0), Proportion { count: 0, of: 0, rate: 0.0, low: 0.0, high: 1.0 });
    }

    #[test]
    fn three_deviations_of_the_suite_are_what_the_account_allows() {
        let deviation = three_deviations(1.0 - 0.65 * 0.28 * 0.55, 1000);
        assert!((deviation - 0.028_47).abs() < 1e-5, "{deviation}");
    }

    #[test]
    fn a_distribution_tells_where_the_numbers_lie() {
        let distribution = Distribution::of((1..=10).map(f64::from));
        assert_eq!((distribution.total, distribution.mean), (55.0, 5.5));
        assert_eq!((distribution.median, distribution.p90, distribution.max), (5.0, 9.0, 10.0));
        assert_eq!(Distribution::of([]).max, 0.0);
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_rate_and_narrows_with_the_count(of in 1_u64..5_000, share in 0.0..=1.0_f64) {
            let count = (share * of as f64) as u64;
            let one = Proportion::new(count, of);
            prop_assert!(0.0 <= one.low && one.low <= one.rate && one.rate <= one.high && one.high <= 1.0);
            let four = Proportion::new(count * 4, of * 4);
            prop_assert!(four.high - four.low <= one.high - one.low + 1e-12);
        }
    }
}
