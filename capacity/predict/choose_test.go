package predict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

type law struct {
	name   string
	levels []Level
	at     func(l *Level) float64
}

func sized(ns ...float64) (ls []Level) {
	for _, n := range ns {
		ls = append(ls, Level{Name: fmt.Sprint(n), Size: n, Facts: Facts{Workers: n}})
	}
	return ls
}

func laws(t *testing.T) []law {
	threads := []float64{1, 2, 4, 8, 16, 32, 64}
	all := []law{
		{"usl", sized(threads...), func(l *Level) float64 {
			return capacity.USL{Lambda: 900, Sigma: 0.05, Kappa: 0.0005}.At(l.Size)
		}},
		{"amdahl", sized(threads...), func(l *Level) float64 { return capacity.USL{Lambda: 900, Sigma: 0.1}.At(l.Size) }},
		{"linear", sized(1, 2, 3, 4, 5, 6), func(l *Level) float64 { return 500 + 800*l.Size }},
		{"queueing", sized(threads...), func(l *Level) float64 { return l.Workers / (0.0004 * cycle(l.Workers, 2, 3)) }},
		{"journal", sized(threads...), func(l *Level) float64 { return l.Workers / (0.005*(2-1/l.Workers) + 0.0002*l.Workers) }},
		{"copies", sized(1, 2, 3, 5, 7), func(l *Level) float64 { return 1 / (0.0001 + 0.00008*l.Size) }},
	}
	for i := range all[5].levels {
		all[5].levels[i].Copies = all[5].levels[i].Size
	}
	for i := range all[4].levels {
		all[4].levels[i].Durable, all[4].levels[i].Writes = true, 0.5
	}
	var data []Level
	for _, n := range []float64{100e3, 200e3, 400e3, 800e3, 1600e3, 3200e3} {
		k, err := capacity.KeysOf(spec.Workload{Name: "b", Records: 1000})
		if err != nil {
			t.Fatal(err)
		}
		k = k.Sized(n)
		data = append(data, Level{Name: fmt.Sprint(n), Size: n, Facts: Facts{Workers: 8, Keys: &k, Cache: 512 << 20}})
	}
	all = append(all, law{"cache", data, func(l *Level) float64 {
		return 8 / (0.0005 + 0.002*misses(pages{*l.Keys, l.Cache}))
	}})
	var disks []Level
	for _, class := range []string{"hdd-7200", "hdd-10k", "azure-premium", "ebs-gp3", "sata-ssd", "nvme", "nvme-plp"} {
		f := factsOf(spec.Run{}, &spec.Lab{Storage: spec.Storage{Device: class}})
		f.Workers = 8
		disks = append(disks, Level{Name: class, Facts: f})
	}
	return append(all, law{"disk", disks, func(l *Level) float64 { return 8 / (0.0005 + 1.2*l.Sync) }})
}

// Each law with noise between levels and trials: most choices are the true law, and the intervals hold.
func TestSimulatedLaws(t *testing.T) {
	var all []Factor
	for _, law := range laws(t) {
		const seeds = 4
		for seed := range uint64(seeds) {
			r := rand.New(rand.NewPCG(seed, 1))
			f := Factor{Source: law.name}
			for _, l := range law.levels {
				level := math.Exp(0.02 * r.NormFloat64())
				for range 3 {
					l.Throughput = append(l.Throughput, law.at(&l)*level*math.Exp(0.03*r.NormFloat64()))
				}
				f.Levels = append(f.Levels, l)
			}
			all = append(all, f)
		}
	}
	b := Backtest(all, record.Tool{})
	meets(t, b, bounds{1.3, 1.2})
	right := 0
	for _, f := range b.Factors {
		if strings.HasPrefix(f.Model, f.Source) {
			right++
		}
	}
	if right < len(b.Factors)*4/5 {
		t.Errorf("the true law was chosen %d times of %d", right, len(b.Factors))
	}
}

func TestRefused(t *testing.T) {
	far := sized(1, 2, 4, 8, 16)
	for i := range far {
		far[i].Throughput = []float64{100 * far[i].Size}
	}
	c, err := Choose(far)
	if err != nil {
		t.Fatal(err)
	}
	random := sized(1, 2, 3, 4, 5, 6)
	for i, x := range []float64{100, 900, 50, 700, 120, 40} {
		random[i].Throughput = []float64{x}
	}
	_, erratic := Choose(random)
	_, few := Choose(far[:3])
	four, err := Choose(far[:4])
	if err != nil {
		t.Fatal(err)
	}
	rising := sized(1, 2, 3, 4, 5, 6, 7, 8) // the last levels gain from something that the others do not have
	for i, x := range []float64{100, 200, 300, 400, 500, 600, 700, 1000} {
		rising[i].Throughput = []float64{x, 1.01 * x}
	}
	steeper, err := Choose(rising)
	if err != nil {
		t.Fatal(err)
	}
	_, beyond := c.Predict(&sized(64)[0], 0)
	_, unchecked := four.Predict(&sized(16)[0], 0)
	_, faster := steeper.Predict(&sized(10)[0], 0)
	for want, err := range map[string]error{"more than 2.00 times the largest measured level (16.0)": beyond, "no model describes": erratic,
		"too few": few, "the others predict one for the outermost level (8)": unchecked, "throughput grew faster up to 8": faster} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Beyond the measured levels there is an upper limit and nothing else: of sizes, and of names by what the model uses.
func TestBeyondTheLevels(t *testing.T) {
	threads := sized(1, 2, 4, 8, 16, 32)
	for i := range threads {
		x := 100 * threads[i].Size / (1 + 0.02*threads[i].Size)
		threads[i].Throughput = []float64{x, 1.02 * x}
	}
	disks := laws(t)[7].levels[:6]
	for i := range disks {
		x := 8 / (0.0005 + 1.2*disks[i].Sync)
		disks[i].Throughput = []float64{x, 1.02 * x}
	}
	faster := disks[0]
	faster.Sync = disks[5].Sync / 2
	for name, c := range map[string]struct {
		levels []Level
		at     Level
		truth  float64
	}{
		"largest":  {threads, sized(48)[0], 4800 / 1.96},
		"smallest": {threads[1:], sized(1)[0], 100 / 1.02},
		"disk":     {disks, faster, 8 / (0.0005 + 0.6*disks[5].Sync)},
	} {
		choice, err := Choose(c.levels)
		if err != nil {
			t.Fatal(err)
		}
		p, err := choice.Predict(&c.at, 0)
		if err != nil || !p.Beyond || p.Throughput != 0 || p.Low != 0 || p.High < c.truth || p.High > 1.2*c.truth {
			t.Errorf("%s: %+v, %v, want a limit above %.0f", name, p, err, c.truth)
		}
	}
}
