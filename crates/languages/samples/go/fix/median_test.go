package median

import "testing"

func TestOne(t *testing.T) {
	if got := Median([]float64{7}); got != 7 {
		t.Errorf("got %v, want 7", got)
	}
}

func TestOdd(t *testing.T) {
	if got := Median([]float64{1, 2, 9}); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
}

func TestUnsorted(t *testing.T) {
	if got := Median([]float64{9, 1, 2}); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
}

func TestEven(t *testing.T) {
	if got := Median([]float64{1, 2, 3, 4}); got != 2.5 {
		t.Errorf("got %v, want 2.5", got)
	}
}
