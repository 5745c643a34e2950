//! What a model's tokens cost.

use std::collections::BTreeMap;

use journeyman_order::model_service::Price;
use journeyman_order::network::MeteredTokens;

const fn price(input: f64, output: f64, cache_read: f64, cache_write: f64) -> Price {
    Price { input, output, cache_read, cache_write }
}

/// Known prices in autumn 2026; `[prices."MODEL"]` in the settings overrides each. They only drive an order's budget: a
/// wrong price makes the budget wrong, not the bill.
///
/// - `claude-…`: platform.claude.com/docs/en/about-claude/pricing. Cache writes are for five minutes.
/// - `gpt-…`, `o…`: developers.openai.com/api/docs/pricing, standard tier. Without a published price for cache writes,
///   the input's price applies.
///
/// Not included: the surcharge for long prompts, from 100,000 tokens (`claude-haiku-5-5`) or 272,000 (`gpt-6…`).
const KNOWN: &[(&str, Price)] = &[
    ("claude-fable-5", price(10.0, 50.0, 1.0, 12.5)),
    ("claude-fable-5-1", price(10.0, 50.0, 0.25, 12.5)),
    ("claude-haiku-3", price(0.25, 1.25, 0.03, 0.3)),
    ("claude-3-haiku", price(0.25, 1.25, 0.03, 0.3)),
    ("claude-3-5-haiku", price(0.8, 4.0, 0.08, 1.0)),
    ("claude-haiku-4-5", price(1.0, 5.0, 0.1, 1.25)),
    ("claude-haiku-5-5", price(0.1, 0.5, 0.01, 0.125)),
    ("claude-3-7-sonnet", price(3.0, 15.0, 0.3, 3.75)),
    ("claude-sonnet-4", price(3.0, 15.0, 0.3, 3.75)),
    ("claude-sonnet-4-0", price(3.0, 15.0, 0.3, 3.75)),
    ("claude-sonnet-4-5", price(3.0, 15.0, 0.3, 3.75)),
    ("claude-sonnet-4-6", price(3.0, 15.0, 0.3, 3.75)),
    ("claude-sonnet-5", price(2.0, 10.0, 0.2, 2.5)),
    ("claude-sonnet-5-5", price(2.0, 10.0, 0.1, 2.5)),
    ("claude-opus-4", price(15.0, 75.0, 1.5, 18.75)),
    ("claude-opus-4-0", price(15.0, 75.0, 1.5, 18.75)),
    ("claude-opus-4-1", price(15.0, 75.0, 1.5, 18.75)),
    ("claude-opus-4-5", price(5.0, 25.0, 0.5, 6.25)),
    ("claude-opus-4-6", price(5.0, 25.0, 0.5, 6.25)),
    ("claude-opus-4-7", price(5.0, 25.0, 0.5, 6.25)),
    ("claude-opus-4-8", price(5.0, 25.0, 0.5, 6.25)),
    ("claude-opus-5", price(5.0, 25.0, 0.5, 6.25)),
    ("claude-opus-5-5", price(4.0, 20.0, 0.2, 5.0)),
    ("gpt-4o", price(2.5, 10.0, 1.25, 2.5)),
    ("gpt-4o-mini", price(0.15, 0.6, 0.075, 0.15)),
    ("gpt-4.1", price(2.0, 8.0, 0.5, 2.0)),
    ("gpt-4.1-mini", price(0.4, 1.6, 0.1, 0.4)),
    ("gpt-4.1-nano", price(0.1, 0.4, 0.025, 0.1)),
    ("gpt-5", price(1.25, 10.0, 0.125, 1.25)),
    ("gpt-5-mini", price(0.25, 2.0, 0.025, 0.25)),
    ("gpt-5-nano", price(0.05, 0.4, 0.005, 0.05)),
    ("gpt-5.1", price(1.25, 10.0, 0.125, 1.25)),
    ("gpt-5.2", price(1.75, 14.0, 0.175, 1.75)),
    ("gpt-5.4", price(2.5, 15.0, 0.25, 2.5)),
    ("gpt-5.4-mini", price(0.75, 4.5, 0.075, 0.75)),
    ("gpt-5.4-nano", price(0.2, 1.25, 0.02, 0.2)),
    ("gpt-5.5", price(5.0, 30.0, 0.5, 5.0)),
    ("gpt-6-luna", price(0.1, 0.5, 0.01, 0.125)),
    ("gpt-6-sol", price(2.0, 10.0, 0.2, 2.5)),
    ("gpt-6.1-sol", price(2.0, 10.0, 0.1, 2.5)),
    ("o3", price(2.0, 8.0, 0.5, 2.0)),
    ("o4-mini", price(1.1, 4.4, 0.275, 1.1)),
];

pub(super) fn dollars(price: &Price, tokens: MeteredTokens) -> f64 {
    let of = |count: u64, price: f64| count as f64 * price / 1_000_000.0;
    of(tokens.input, price.input)
        + of(tokens.output, price.output)
        + of(tokens.cache_read, price.cache_read)
        + of(tokens.cache_write, price.cache_write)
}

/// Prices by model: the settings override the built-in ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// Prices that override the built-in ones.
    pub fn new(own: BTreeMap<String, Price>) -> Self {
        Self(own)
    }

    /// The cost of a model's tokens in dollars, if its price is known.
    pub fn dollars(&self, model: &str, tokens: MeteredTokens) -> Option<f64> {
        Some(dollars(&self.of(model)?, tokens))
    }

    /// A model's price, if known. A name with a date (`-20260922`, `-2026-09-22`) or `-latest` falls back to the name
    /// without it.
    pub(super) fn of(&self, model: &str) -> Option<Price> {
        let known = |name: &str| {
            let built_in = || KNOWN.iter().find(|(known, _)| *known == name).map(|(_, price)| *price);
            self.0.get(name).copied().or_else(built_in)
        };
        known(model).or_else(|| known(without_date(model)?))
    }
}

fn without_date(model: &str) -> Option<&str> {
    if let Some(name) = model.strip_suffix("-latest") {
        return Some(name);
    }
    let fits = |at: usize, shape: &str| {
        let date = model.get(at..)?;
        let same = |(byte, form): (u8, u8)| {
            if form == b'0' { byte.is_ascii_digit() } else { byte == form }
        };
        (date.len() == shape.len() && date.bytes().zip(shape.bytes()).all(same)).then(|| model.get(..at))?
    };
    ["-00000000", "-0000-00-00"].iter().find_map(|shape| fits(model.len().checked_sub(shape.len())?, shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_names_the_same_model_and_another_version_does_not() {
        let prices = Prices::default();
        for (model, input) in [
            ("claude-opus-4-5", Some(5.0)),
            ("claude-opus-4-5-20251101", Some(5.0)),
            ("claude-opus-4-20250514", Some(15.0)),
            ("claude-opus-4-9", None),
            ("claude-3-5-haiku-latest", Some(0.8)),
            ("gpt-4o-2024-08-06", Some(2.5)),
            ("gpt-4o-mini", Some(0.15)),
            ("gpt-4o-2024", None),
            ("gpt-4o-2024-08-0x", None),
            ("é-20251101", None),
            ("-20251101", None),
            ("", None),
        ] {
            assert_eq!(prices.of(model).map(|price| price.input), input, "{model}");
        }
    }

    #[test]
    fn the_settings_go_over_what_is_built_in() {
        let own = Price { input: 1.0, output: 2.0, cache_read: 0.5, cache_write: 4.0 };
        let prices = Prices::new(BTreeMap::from([("gpt-4o".to_owned(), own), ("qwen".to_owned(), own)]));
        assert_eq!(prices.of("gpt-4o-2024-08-06"), Some(own));
        assert_eq!(prices.of("qwen"), Some(own));
        let tokens = MeteredTokens {
            input: 1_000_000,
            output: 2_000_000,
            cache_read: 4_000_000,
            cache_write: 250_000,
        };
        assert_eq!(dollars(&own, tokens), 1.0 + 4.0 + 2.0 + 1.0);
        assert!(dollars(&own, MeteredTokens { input: u64::MAX, ..tokens }).is_finite());
    }

    #[test]
    fn every_price_that_is_built_in_makes_sense() {
        for (model, Price { input, output, cache_read, cache_write }) in KNOWN {
            assert!(0.0 < *cache_read && cache_read < input, "{model}");
            assert!(input <= cache_write && cache_write < output, "{model}");
            assert_eq!(KNOWN.iter().filter(|(known, _)| known == model).count(), 1, "{model} twice");
        }
    }
}
