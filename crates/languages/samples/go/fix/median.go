package median

import "sort"

// Median is the middle of the numbers, in the order of their size; of an even number of them, the mean of the middle two.
func Median(numbers []float64) float64 {
	ordered := append([]float64(nil), numbers...)
	sort.Float64s(ordered)
	middle := len(ordered) / 2
	if len(ordered)%2 == 0 {
		return (ordered[middle-1] + ordered[middle]) / 2
	}
	return ordered[middle]
}
