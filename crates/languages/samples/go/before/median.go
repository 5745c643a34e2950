package median

import "sort"

// Median is the middle of the numbers, in the order of their size.
func Median(numbers []float64) float64 {
	ordered := append([]float64(nil), numbers...)
	sort.Float64s(ordered)
	return ordered[len(ordered)/2]
}
