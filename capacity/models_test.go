package capacity

import (
	"math"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// The reference architecture's figures 6 to 9: four servers with 100 million YCSB records, and what memory and data did
// to the operations per second of workload B. Throughput is no hit ratio, but it falls where that does and nowhere
// else.
func TestCliffOfTheReferenceArchitecture(t *testing.T) {
	keys, err := KeysOf(spec.Workload{Name: "ycsb-b", Records: 1000})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the size of a document", keys.DocBytes, 1168, 0.01)
	hit := func(million, memoryGB float64) float64 {
		p, err := keys.Sized(million * 1e6 / 4).Predict(WiredTiger(WiredTigerCache(memoryGB * (1 << 30))))
		if err != nil {
			t.Fatal(err)
		}
		return p.Hit
	}
	// "8 CPU cores and 64GB memory can hold up to a database size of 100 million entries."
	if h := hit(50, 64); h != 1 {
		t.Errorf("50 million records are cached to %v", h)
	}
	if h := hit(100, 64); h < 0.9 {
		t.Errorf("100 million records are cached to %v only", h)
	}
	// "The ops/sec dramatically decreased when database size was over 100 million."
	if a, b, c := hit(100, 64), hit(200, 64), hit(500, 64); a-b < 0.2 || b-c < 0.1 {
		t.Errorf("100, 200 and 500 million are cached to %v, %v and %v: there is no cliff", a, b, c)
	}
	// 32 → 64 GB brought 177 %, 64 → 96 GB 7 %, 96 → 128 GB 4 %.
	if a, b, c, d := hit(100, 32), hit(100, 64), hit(100, 96), hit(100, 128); b-a < 0.2 || c-b > 0.1 || d-c > 0.01 {
		t.Errorf("with 32, 64, 96 and 128 GB the hit ratio is %v, %v, %v and %v", a, b, c, d)
	}
}

func TestWiredTigerCache(t *testing.T) {
	const gib = 1 << 30
	for memory, want := range map[float64]float64{64 * gib: 31.5 * gib, 4 * gib: 1.5 * gib, gib: 256 << 20,
		1.5 * gib: 256 << 20, 2 * gib: gib / 2} {
		if got := WiredTigerCache(memory); got != want {
			t.Errorf("with %v bytes of memory the cache is %v, want %v", memory, got, want)
		}
	}
	for _, cache := range []float64{256 << 20, gib, 31.5 * gib} {
		if got := WiredTigerCache(memoryFor(cache)); got != cache {
			t.Errorf("a cache of %v needs memory that gives one of %v", cache, got)
		}
	}
}

func TestCacheForIsTheInverseOfPredict(t *testing.T) {
	for _, distribution := range []string{"zipfian", "uniform", "latest", "hotspot", "exponential", "sequential"} {
		for _, mode := range []string{"core", "ycsb"} {
			keys, err := KeysOf(spec.Workload{Name: "c", Mode: mode, Records: 1_000_000,
				Params: map[string]string{"requestdistribution": distribution}})
			if err != nil {
				t.Fatal(err)
			}
			before := 0.0
			for _, hit := range []float64{0.3, 0.6, 0.9, 0.99, 1} {
				bytes, err := Accesses{[]access{{Keys: keys, share: 1}}}.CacheFor(hit, WiredTiger(1))
				if err != nil {
					t.Fatal(err)
				}
				p, err := keys.Predict(WiredTiger(bytes))
				if err != nil || p.Hit < hit-1e-6 || bytes < before {
					t.Errorf("%s %s: a cache of %v for %v hits gives %v (%v)", mode, distribution, bytes, hit, p.Hit, err)
				}
				if less, _ := keys.Predict(WiredTiger(bytes * 0.99)); distribution != "sequential" && less.Hit >= hit {
					t.Errorf("%s %s: less than the smallest cache for %v does as well", mode, distribution, hit)
				}
				before = bytes
			}
		}
	}
}

// Probabilities of all ranks add up to one, and the hottest one is what the generators' authors say.
func TestPopularity(t *testing.T) {
	for _, k := range []Keys{
		{Distribution: "zipfian", Records: 1e6, theta: 0.99}, {Distribution: "zipfian", Records: 1e9, theta: 1},
		{Distribution: "zipfian", Records: 1e6, theta: 1.4}, {Distribution: "zipfian", Records: 1e6, Original: true},
		{Distribution: "latest", Records: 1e5, Original: true}, {Distribution: "uniform", Records: 7},
		{Distribution: "hotspot", Records: 1000, hotData: 0.2, hotShare: 0.8},
		{Distribution: "hotspot", Records: 3, hotData: 0.2, hotShare: 0.8},
		{Distribution: "exponential", Records: 1e6, percentile: 95, newPart: 0.8571428571},
	} {
		items, all := 0.0, 0.0
		for _, c := range k.popularity() {
			items, all = items+c.items, all+c.items*c.each
		}
		if math.Abs(all-1) > 1e-6 || math.Abs(items-k.items()) > 1e-6*items {
			t.Errorf("%+v: %v items with probability %v", k, items, all)
		}
	}
	for records, want := range map[float64]float64{1e3: 0.129, 1e5: 0.078, 1e6: 0.065, 1e8: 0.048} {
		near(t, "the share of the hottest key", Keys{Distribution: "zipfian", Records: records, theta: 0.99}.popularity()[0].each, want, 0.01)
		near(t, "that of YCSB", Keys{Distribution: "zipfian", Records: records, Original: true}.popularity()[0].each, 0.0378, 0.001)
	}
}

func TestKeysOfSaysWhatHasNoModel(t *testing.T) {
	for name, want := range map[string]string{"e": "scans", "person": "no model", "location": "no model", "xyz": "unknown workload"} {
		if _, err := KeysOf(spec.Workload{Name: name, Records: 1000}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("workload %s: error %v, want one with %q", name, err, want)
		}
	}
	if _, err := KeysOf(spec.Workload{Name: "c", Records: 100, Params: map[string]string{"theta": "much"}}); err == nil {
		t.Error("a theta that is no number is taken")
	}
	for _, c := range []Cache{{}, {Bytes: -1}, {Bytes: math.NaN()}, {Bytes: math.Inf(1)}} {
		if _, err := (Keys{Distribution: "uniform", Records: 10, DocBytes: 10}).Predict(c); err == nil {
			t.Errorf("the cache %+v has a hit ratio", c)
		}
	}
	if _, err := (Keys{Distribution: "uniform"}).Predict(WiredTiger(1 << 30)); err == nil {
		t.Error("no records have a hit ratio")
	}
}
