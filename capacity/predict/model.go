package predict

import (
	"math"
	"sync"

	"github.com/plimsoll-bench/plimsoll/capacity"
)

// Level is one measured level of a factor.
type Level struct {
	Name       string
	Size       float64   // the number that the factor varies; 0 for a name
	Throughput []float64 // of each trial, in operations per second, above 0
	Facts
}

// Facts are what models know about a level. 0 is unknown.
type Facts struct {
	Workers       float64        // operations that are under way at the same time
	Cores         float64        // of a server
	Cache         float64        // of a server, in bytes
	Keys          *capacity.Keys // how often each key is requested; nil without a model of the cache
	Reads, Writes float64        // shares of the operations
	Copies        float64        // members that keep each document
	Other         float64        // throughput of the same workload on another deployment, per second
	Durable       bool           // writes wait for the journal
	Sync          float64        // seconds of a write and a flush of the class of device
}

// shape is a parameter that is found by search, because throughput is not linear in it.
type shape struct {
	name  string
	tried []float64
}

// Model is a law of throughput by the facts of a level. Its parameters are the coefficients of terms, and shapes.
type Model struct {
	Name    string
	Formula string // for people
	Basis   string // where the law is from
	names   []string
	shapes  []shape
	// terms are multiplied by the coefficients and added. The sum is the throughput if rate, and otherwise the time of
	// an operation: workers by throughput, or sizes by throughput for laws of size. ok is false if a fact is unknown.
	terms func(l *Level, shape []float64) (terms []float64, scale float64, ok bool)
	rate  bool
}

// Models are all laws. If two are equally good, the earlier one is chosen.
var Models = []Model{
	{Name: "linear", Formula: "X = a + b·N", Basis: "ordinary regression", names: []string{"a", "b"}, rate: true,
		terms: func(l *Level, _ []float64) ([]float64, float64, bool) { return []float64{1, l.Size}, 1, l.Size > 0 }},
	{Name: "multiplier", Formula: "X = a·X of the other deployment", Basis: "the brief ssd-vs-disk", names: []string{"multiplier"},
		rate:  true,
		terms: func(l *Level, _ []float64) ([]float64, float64, bool) { return []float64{l.Other}, 1, l.Other > 0 }},
	{Name: "power", Formula: "X = a·N^b", Basis: "regression of logarithms", names: []string{"a"}, rate: true,
		shapes: []shape{{"exponent", evenly(-2, 2, 161)}},
		terms: func(l *Level, s []float64) ([]float64, float64, bool) {
			return []float64{math.Pow(l.Size, s[0])}, 1, l.Size > 0
		}},
	{Name: "amdahl", Formula: "N/X = a + b·N", Basis: "Amdahl 1967: a part of the work is not shared",
		names: []string{"parallel", "serial"},
		terms: func(l *Level, _ []float64) ([]float64, float64, bool) {
			return []float64{1, l.Size}, l.Size, l.Size > 0
		}},
	{Name: "usl", Formula: "N/X = a + b·N + c·N(N−1)", Basis: "Universal Scalability Law, Gunther 2007",
		names: []string{"parallel", "contention", "coherency"},
		terms: func(l *Level, _ []float64) ([]float64, float64, bool) {
			return []float64{1, l.Size, l.Size * (l.Size - 1)}, l.Size, l.Size > 0
		}},
	{Name: "queueing", Formula: "closed network: W workers with think time Z, one station of the server's cores with demand D",
		Basis: "mean value analysis, Reiser and Lavenberg 1980", names: []string{"demand"},
		shapes: []shape{{"think/demand", thinks}},
		terms: func(l *Level, s []float64) ([]float64, float64, bool) {
			return []float64{cycle(l.Workers, l.Cores, s[0])}, l.Workers, l.Workers > 0 && l.Cores > 0
		}},
	{Name: "queueing-c", Formula: "closed network: W workers with think time Z, one station of c servers with demand D",
		Basis: "mean value analysis, Reiser and Lavenberg 1980", names: []string{"demand"},
		shapes: []shape{{"think/demand", thinks}, {"servers", []float64{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128}}},
		terms: func(l *Level, s []float64) ([]float64, float64, bool) {
			return []float64{cycle(l.Workers, s[1], s[0])}, l.Workers, l.Workers > 0
		}},
	{Name: "cache", Formula: "W/X = a + b·misses(keys, data, cache)", Basis: "working set, Denning 1968; misses by Che 2002",
		names:  []string{"hit", "miss"},
		shapes: []shape{{"cache share", logarithmic(0.25, 4, 17)}},
		terms: func(l *Level, s []float64) ([]float64, float64, bool) {
			if l.Keys == nil || l.Cache <= 0 {
				return nil, 0, false
			}
			m := misses(pages{*l.Keys, l.Cache * s[0]})
			return []float64{1, m}, max(l.Workers, 1), !math.IsNaN(m)
		}},
	{Name: "journal", Formula: "W/X = S·(2 − 1/W) + s·W", Basis: "group commit, DeWitt and others 1984",
		names: []string{"sync", "each"},
		terms: func(l *Level, _ []float64) ([]float64, float64, bool) {
			return []float64{2 - 1/max(l.Workers, 1), l.Workers}, l.Workers, l.Durable && l.Writes > 0 && l.Workers > 0
		}},
	{Name: "disk", Formula: "W/X = a + b·(write + flush of the device)", Basis: "operational laws, Denning and Buzen 1978",
		names: []string{"rest", "syncs"},
		terms: func(l *Level, _ []float64) ([]float64, float64, bool) {
			return []float64{1, l.Sync}, max(l.Workers, 1), l.Sync > 0
		}},
	{Name: "copies", Formula: "1/X = a + b·copies", Basis: "each copy takes the same time of each write",
		names: []string{"rest", "copy"},
		terms: func(l *Level, _ []float64) ([]float64, float64, bool) {
			return []float64{1, l.Copies}, 1, l.Copies > 0
		}},
	{Name: "mix", Formula: "W/X = reads·r + writes·w", Basis: "operational laws, Denning and Buzen 1978",
		names: []string{"read", "write"},
		terms: func(l *Level, _ []float64) ([]float64, float64, bool) {
			return []float64{l.Reads, l.Writes}, max(l.Workers, 1), l.Size == 0 && l.Reads+l.Writes > 0
		}},
}

var thinks = append([]float64{0}, logarithmic(0.05, 200, 25)...)

// parameters is the number of parameters of a model.
func (m *Model) parameters() int {
	return len(m.names) + len(m.shapes)
}

// logarithmic returns n values from low to high with a constant ratio.
func logarithmic(low, high float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = low * math.Pow(high/low, float64(i)/float64(n-1))
	}
	return out
}

func evenly(low, high float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = low + (high-low)*float64(i)/float64(n-1)
	}
	return out
}

// cycle returns the time between two operations of a worker, in demands of the station: n workers think for z and then
// queue for c servers, all times exponential. The states are the numbers of workers at the station, and their
// probabilities follow from the one before. This is mean value analysis of one station with think time, solved by
// states, which also holds for several servers.
func cycle(n, c, z float64) float64 { return cycles(station{n, c, z}) }

type station struct{ n, c, z float64 }

var cycles = remembered(func(s station) float64 {
	if s.n < 1 {
		return math.NaN()
	}
	if s.z == 0 {
		return s.n / min(s.n, s.c)
	}
	p, sum, busy := 1.0, 1.0, 0.0
	for k := 1.0; k <= s.n; k++ {
		p *= (s.n - k + 1) / (s.z * min(k, s.c))
		if p > 1e200 { // only ratios matter
			p, sum, busy = p*1e-200, sum*1e-200, busy*1e-200
		}
		sum += p
		busy += p * min(k, s.c)
	}
	return s.n * sum / busy
})

type pages struct {
	keys  capacity.Keys
	cache float64
}

// misses is the number of pages that an operation reads.
var misses = remembered(func(p pages) float64 {
	x, err := p.keys.Predict(capacity.WiredTiger(p.cache))
	if err != nil {
		return math.NaN()
	}
	return x.Misses
})

// remembered keeps the results of f, because every choice of a model needs the same ones again.
func remembered[K comparable, V any](f func(K) V) func(K) V {
	var known sync.Map
	return func(k K) V {
		if x, ok := known.Load(k); ok {
			return x.(V)
		}
		x := f(k)
		known.Store(k, x)
		return x
	}
}
