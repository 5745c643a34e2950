/// The middle of the numbers, in the order of their size; of an even number of them, the mean of the middle two; none of
/// no numbers.
pub fn median(numbers: &[f64]) -> Option<f64> {
    let mut ordered = numbers.to_vec();
    ordered.sort_by(f64::total_cmp);
    let middle = ordered.len() / 2;
    let upper = ordered.get(middle).copied()?;
    if ordered.len() % 2 == 0 {
        return Some((ordered[middle - 1] + upper) / 2.0);
    }
    Some(upper)
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn one() {
        assert_eq!(median(&[7.0]), Some(7.0));
    }

    #[test]
    fn odd() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
    }

    #[test]
    fn unsorted() {
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
    }

    #[test]
    fn even() {
        assert_eq!(median(&[1.0, 2.0, 3.0, 4.0]), Some(2.5));
    }
}
