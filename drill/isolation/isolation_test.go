package isolation_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/plimsoll-bench/plimsoll/drill/isolation"
	"github.com/plimsoll-bench/plimsoll/drill/isolation/isolationtest"
)

func TestClean(t *testing.T) {
	for seed := range uint64(60) {
		for _, size := range []int{20, 1000} {
			s := isolationtest.Simulate(isolationtest.Options{Seed: seed, Transactions: size})
			v := isolation.Check(&s.History, isolation.StrongSnapshot)
			if v.Forbidden() > 0 {
				for _, e := range v.Examples {
					if e.Forbidden {
						t.Fatalf("seed %d, %d transactions: %v", seed, size, s.Words(e, 0))
					}
				}
			}
		}
	}
}

func TestPlants(t *testing.T) {
	promises := []isolation.Promise{isolation.ReadCommitted, isolation.Causal, isolation.Snapshot,
		isolation.SessionSnapshot, isolation.StrongSnapshot, isolation.Serializable}
	for _, plant := range isolationtest.Plants {
		t.Run(plant.Name, func(t *testing.T) {
			for _, size := range []int{20, 1000} {
				planted, wanted := 0, 8000/(180+2*size)
				for seed := uint64(0); planted < wanted && seed < 400; seed++ {
					s := isolationtest.Simulate(isolationtest.Options{Seed: seed, Transactions: size, NoSkew: true})
					if !plant.Into(s) {
						continue
					}
					planted++
					for _, p := range promises {
						v := isolation.Check(&s.History, p)
						if !slices.ContainsFunc(plant.Classes, func(c isolation.Class) bool { return v.Counts[c] > 0 }) {
							t.Errorf("seed %d, %d transactions, %s: not found, but %v", seed, size, p, v.Counts)
						}
						if plant.Either && p == isolation.Causal {
							continue
						}
						if allowed := slices.Contains(plant.Allowed, p); allowed != (v.Forbidden() == 0) {
							t.Errorf("seed %d, %d transactions, %s: allowed %t, found %v", seed, size, p, allowed, v.Counts)
						}
					}
					if t.Failed() {
						return
					}
				}
				if planted < wanted {
					t.Errorf("only %d histories of %d transactions had a place", planted, size)
				}
			}
		})
	}
}

// TestWriteSkew sees that snapshot isolation allows write skew and serializability does not.
func TestWriteSkew(t *testing.T) {
	skewed := 0
	for seed := range uint64(20) {
		s := isolationtest.Simulate(isolationtest.Options{Seed: seed, Transactions: 1000, Keys: 30})
		if v := isolation.Check(&s.History, isolation.Serializable); v.Forbidden() > 0 {
			skewed++
			if v.Counts[isolation.WriteSkew] != v.Forbidden() {
				t.Errorf("seed %d: more than write skew: %v", seed, v.Counts)
			}
		}
	}
	if skewed < 15 {
		t.Errorf("%d of 20 histories have write skew", skewed)
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, size := range []int{1000, 25_000, 100_000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			s := isolationtest.Simulate(isolationtest.Options{Seed: 1, Transactions: size})
			b.ReportAllocs()
			for b.Loop() {
				isolation.Check(&s.History, isolation.StrongSnapshot)
			}
			b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "transactions/s")
		})
	}
}
