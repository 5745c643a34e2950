use statistics::{mean, median};

#[test]
fn the_mean_of_nothing_is_nothing() {
    assert_eq!(mean(&[]), None);
}

#[test]
fn the_mean_is_the_sum_by_the_count() {
    assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
}

#[test]
fn the_median_of_an_odd_number_of_values_is_the_middle_one() {
    assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
}
