//go:build !race

package workload

import (
	"strings"
	"testing"
)

// allocCases are all workloads and distributions.
func allocCases() map[string]Spec {
	cases := map[string]Spec{}
	for _, n := range Names() {
		cases[n.Name] = Spec{Name: n.Name, Records: 10_000}
	}
	for _, name := range []string{"ycsb", "core"} {
		for _, dist := range []string{"uniform", "zipfian", "latest", "hotspot", "sequential", "exponential"} {
			cases[name+" "+dist] = Spec{Name: name, Records: 10_000, Params: map[string]string{
				"requestdistribution": dist, "insertproportion": "0.1", "scanproportion": "0.1", "readmodifywriteproportion": "0.1",
				"scanlengthdistribution": "zipfian", "fieldlengthdistribution": "zipfian",
			}}
		}
		cases[name+" batches"] = Spec{Name: name, Records: 100, Params: map[string]string{
			"insertproportion": "1", "batchsize": "10", "mongodb.upsert": "true", "writeallfields": "true", "zeropadding": "30",
		}}
		cases[name+" integrity"] = Spec{Name: name, Records: 100, Params: map[string]string{
			"dataintegrity": "true", "readallfields": "false", "fieldlengthdistribution": "constant",
		}}
	}
	return cases
}

func TestNextAllocatesNothing(t *testing.T) {
	for name, spec := range allocCases() {
		w := openSpec(t, spec)
		s := w.Stream(0, 4)
		var op Op
		step := func() {
			for range 50 {
				s.Next(&op)
				s.Done(&op, true)
			}
		}
		warmUp(step)
		if n := testing.AllocsPerRun(50, step); n > 0 {
			t.Errorf("%s: %v allocations in 50 operations", name, n)
		}
	}
}

// warmUp lets buffers grow to the size of the longest operation.
func warmUp(step func()) {
	for range 100 {
		step()
	}
}

func TestLoadAllocatesNothing(t *testing.T) {
	for name, spec := range allocCases() {
		l := openSpec(t, spec).Loader()
		var op Op
		var seq int64
		step := func() {
			l.Load(seq%50, 20, &op)
			l.Probe(seq%50, &op)
			seq++
		}
		warmUp(step)
		if n := testing.AllocsPerRun(100, step); n > 0 {
			t.Errorf("%s: %v allocations per load of 20 and probe", name, n)
		}
	}
}

func TestVerifyAllocatesNothing(t *testing.T) {
	w := open(t, "core", map[string]string{"recordcount": "1", "dataintegrity": "true", "updateproportion": "0"})
	s := w.Stream(0, 1)
	doc := loadOne(w, 0)
	var op Op
	s.Next(&op)
	step := func() {
		if ok, _ := s.Verify(&op, 0, doc); !ok {
			t.Fatal("the record was not verified")
		}
	}
	warmUp(step)
	if n := testing.AllocsPerRun(100, step); n > 0 {
		t.Errorf("%v allocations per check", n)
	}
}

// A data set of 10^9 records and more takes no time and no memory to open.
func TestHugeDataSetsOpenAtOnce(t *testing.T) {
	for _, name := range []string{"ycsb", "core"} {
		for _, dist := range []string{"zipfian", "latest"} {
			spec := Spec{Name: name, Records: 1_000_000_000_000, Params: map[string]string{"requestdistribution": dist}}
			var op Op
			openSpec(t, spec).Stream(0, 1).Next(&op) // summing up 10^12 terms would take hours
			if id := text(op.Requests[0].Filter); !strings.Contains(id, `"user`) && len(op.Requests[0].Updates) == 0 {
				t.Errorf("%s %s: filter %s", name, dist, id)
			}
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, n := range Names() {
		b.Run(n.Name, func(b *testing.B) {
			s := openSpec(b, Spec{Name: n.Name, Records: 1_000_000}).Stream(0, 16)
			var op Op
			b.ReportAllocs()
			for b.Loop() {
				s.Next(&op)
				s.Done(&op, true)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"a", "ycsb-a", "person", "location", "catalog"} {
		b.Run(name, func(b *testing.B) {
			l := openSpec(b, Spec{Name: name, Records: 1_000_000}).Loader()
			var op Op
			var seq int64
			b.ReportAllocs()
			for b.Loop() {
				l.Load(seq, 1, &op)
				seq = (seq + 1) % 1_000_000
			}
		})
	}
}

func BenchmarkKeys(b *testing.B) {
	for _, name := range []string{"ycsb", "core"} {
		for _, dist := range []string{"uniform", "zipfian", "latest", "hotspot", "sequential", "exponential"} {
			b.Run(name+"/"+dist, func(b *testing.B) {
				w := openSpec(b, Spec{Name: name, Records: 100_000_000, Params: map[string]string{"requestdistribution": dist}})
				keys, r := w.(*core).keyChooser(0, 16), testRandom()
				for b.Loop() {
					keys.next(r)
				}
			})
		}
	}
}

func BenchmarkOpenBillion(b *testing.B) {
	for _, name := range []string{"ycsb-d", "d", "ycsb-a", "a"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				openSpec(b, Spec{Name: name, Records: 1_000_000_000}).Stream(0, 1)
			}
		})
	}
}
