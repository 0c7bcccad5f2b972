package stats

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkPairedRatio(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	base, value := scatter(r, 10, 100, 0.03), scatter(r, 10, 105, 0.03)
	for b.Loop() {
		pairedRatio(base, value, 0.95)
	}
}

func BenchmarkMannWhitney(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	base, value := scatter(r, 10, 100, 0.03), scatter(r, 10, 105, 0.03)
	for b.Loop() {
		MannWhitney(base, value)
	}
}

func BenchmarkMannWhitneyLarge(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	base, value := scatter(r, 25, 100, 0.03), scatter(r, 25, 105, 0.03)
	value[0] = base[0]
	for b.Loop() {
		MannWhitney(base, value)
	}
}

func BenchmarkTQuantile(b *testing.B) {
	for b.Loop() {
		TQuantile(0.975, 17.3)
	}
}

func BenchmarkPower(b *testing.B) {
	for b.Loop() {
		Power(0.05, 0.02, 0.05, 50, true)
	}
}

func BenchmarkChangePoints(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	xs := append(scatter(r, 500, 100, 0.03), scatter(r, 500, 103, 0.03)...)
	for b.Loop() {
		ChangePoints(xs, ChangeOptions{})
	}
}
