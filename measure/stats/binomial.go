package stats

// BinomialInterval returns the exact interval of a probability after k successes in n trials (Clopper and Pearson
// 1934). Without trials it is 0 to 1.
func BinomialInterval(k, n int, confidence float64) Interval {
	iv := Interval{Low: 0, High: 1}
	if n < 1 || k < 0 || k > n || !validConfidence(confidence) {
		return iv
	}
	tail := (1 - confidence) / 2
	if k > 0 { // at Low, k or more successes have the probability of the tail
		iv.Low = bisect(func(p float64) bool { return 1-binomialBelow(k, n, p) < tail })
	}
	if k < n { // at High, k or fewer have it
		iv.High = bisect(func(p float64) bool { return binomialBelow(k+1, n, p) > tail })
	}
	return iv
}

// bisect returns where below changes from true to false between 0 and 1.
func bisect(below func(float64) bool) float64 {
	a, b := 0.0, 1.0
	for range 60 {
		if mid := (a + b) / 2; below(mid) {
			a = mid
		} else {
			b = mid
		}
	}
	return (a + b) / 2
}
