package workload

import (
	"math"
	"testing"
)

// plainSum adds the terms one by one, smallest first, with Kahan's compensation.
func plainSum(from, to int64, theta float64) float64 {
	sum, lost := 0.0, 0.0
	for i := to; i >= from; i-- {
		y := math.Pow(float64(i), -theta) - lost
		next := sum + y
		lost = (next - sum) - y
		sum = next
	}
	return sum
}

func TestPowerSumEqualsTheSum(t *testing.T) {
	for _, theta := range []float64{0.01, 0.5, 0.99, 1, 1 + 1e-12, 1.2, 2, 5} {
		for _, n := range []int64{0, 1, 2, 3, 63, 64, 65, 66, 100, 1000, 12_345, 100_000} {
			checkSum(t, 1, n, theta)
		}
		checkSum(t, 1000, 1003, theta)
		checkSum(t, 1001, 300_000, theta)
		checkSum(t, 70, 70, theta)
	}
}

func checkSum(t *testing.T, from, to int64, theta float64) {
	t.Helper()
	got, want := powerSum(from, to, theta), plainSum(from, to, theta)
	if math.Abs(got-want) > 1e-12*want {
		t.Errorf("theta %v, %d to %d: %.17g, want %.17g (off by %.2g)", theta, from, to, got, want, got/want-1)
	}
}

func TestPowerSumGivesYCSBsConstant(t *testing.T) {
	// YCSB's constant was summed up term by term in double arithmetic, which cost it four digits.
	got := powerSum(1, ycsbItemCount, ycsbTheta)
	if math.Abs(got/ycsbZetaN-1) > 1e-11 {
		t.Errorf("zeta(10^10, 0.99) = %.15g, YCSB has %.15g", got, ycsbZetaN)
	}
	if math.Abs(got-26.469028201752) > 1e-12*26 {
		t.Errorf("zeta(10^10, 0.99) = %.15g, want 26.469028201752", got)
	}
}

func TestPowerSumOfTwo(t *testing.T) {
	if got := powerSum(1, 2, ycsbTheta); math.Abs(got-1.5034777750283594) > 1e-15 {
		t.Errorf("zeta(2, 0.99) = %.17g", got)
	}
}
