package capacity

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// Keys describes how often a workload requests each key, and how its records are stored in pages. [KeysOf] makes it.
type Keys struct {
	Distribution string  // zipfian, uniform, latest, hotspot, exponential or sequential
	Original     bool    // YCSB's own generators, whose zipfian is far flatter than its name says
	Records      float64 // number of records
	DocBytes     float64 // mean size of a document in BSON
	Inserts      float64 // share of the operations that add records

	shares              *[]class // of found: shares of the records instead of their numbers
	theta               float64
	hotData, hotShare   float64
	percentile, newPart float64
}

// KeysOf reads the key distribution of a workload from its specification, and generates documents to measure their
// size. It fails for workloads whose operations do not request single keys: those with scans, person, location and
// catalog.
func KeysOf(asked spec.Workload) (Keys, error) {
	name, values, err := parameters(asked)
	if err != nil {
		return Keys{}, err
	}
	k := Keys{Distribution: values["requestdistribution"], Original: strings.HasPrefix(name, "ycsb")}
	if k.Distribution == "" {
		return Keys{}, fmt.Errorf("workload %s does not query by key, so there is no model of its cache hits", name)
	}
	number := func(key string) float64 {
		x, convErr := strconv.ParseFloat(strings.TrimSpace(values[key]), 64)
		if convErr != nil && err == nil && values[key] != "" {
			err = fmt.Errorf("workload %s: %s is %q, not a number", name, key, values[key])
		}
		return x
	}
	k.theta = 0.99
	if !k.Original {
		k.theta = number("theta")
	}
	k.hotData, k.hotShare = number("hotspotdatafraction"), number("hotspotopnfraction")
	k.percentile, k.newPart = number("exponential.percentile"), number("exponential.frac")
	insert, scan := number("insertproportion"), number("scanproportion")
	sum := number("readproportion") + number("updateproportion") + number("readmodifywriteproportion") + insert + scan
	if err != nil {
		return Keys{}, err
	}
	if scan > 0 {
		return Keys{}, fmt.Errorf("workload %s scans, and there is no model of the pages of scans", name)
	}
	if sum > 0 {
		k.Inserts = insert / sum
	}
	k.Records, k.DocBytes, err = sample(asked)
	return k, err
}

// Shares returns the shares of operations that only read and of those that write.
func Shares(asked spec.Workload) (reads, writes float64, err error) {
	name, values, err := parameters(asked)
	if err != nil {
		return 0, 0, err
	}
	sum := 0.0
	for key, v := range values {
		class, ok := strings.CutSuffix(key, "proportion")
		x, convErr := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if !ok || convErr != nil {
			continue
		}
		sum += x
		if class == "read" || class == "scan" {
			reads += x
		} else {
			writes += x
		}
	}
	if sum == 0 {
		return 0, 0, fmt.Errorf("workload %s states no shares of its operations", name)
	}
	return reads / sum, writes / sum, nil
}

// parameters returns the parameters of a workload, with its defaults.
func parameters(asked spec.Workload) (name string, values map[string]string, err error) {
	name = strings.TrimPrefix(strings.ToLower(asked.Name), "workload")
	switch {
	case asked.Mode == "ycsb" && name == "core":
		name = "ycsb"
	case asked.Mode == "ycsb" && !strings.HasPrefix(name, "ycsb"):
		name = "ycsb-" + name
	case asked.Mode == "core" && name == "ycsb":
		name = "core"
	case asked.Mode == "core":
		name = strings.TrimPrefix(name, "ycsb-")
	}
	params, err := workload.ParamsOf(name)
	if err != nil {
		return name, nil, err
	}
	values = map[string]string{}
	for _, p := range params {
		values[p.Name] = p.Default
		if v, ok := asked.Params[p.Name]; ok {
			values[p.Name] = v
		}
	}
	return name, values, nil
}

// sample returns the number of records of a workload, and the mean size of up to 200 of them.
func sample(asked spec.Workload) (records, bytes float64, err error) {
	w, err := own.Open(workload.Spec{
		Text: asked.Text(),
		Name: asked.Name, Mode: asked.Mode, Records: int64(asked.Records), Seed: asked.Seed, Params: asked.Params,
	})
	if err != nil {
		return 0, 0, err
	}
	n := w.Records()
	if n < 1 {
		return 0, 0, fmt.Errorf("workload %s has no records", w.Name())
	}
	loader, op, total := w.Loader(), workload.Op{}, 0
	count := min(n, 200)
	for i := range count {
		loader.Load(i*(n/count), 1, &op)
		for _, r := range op.Requests {
			for _, d := range r.Docs {
				total += len(d)
			}
		}
	}
	return float64(n), float64(total) / float64(count), nil
}

// String names the distribution with its parameters.
func (k Keys) String() string {
	s := k.Distribution
	switch {
	case k.Distribution == "zipfian" && k.Original:
		s = "zipfian of YCSB (over 10^10 items, hashed onto the records)"
	case k.Distribution == "zipfian" || k.Distribution == "latest" && !k.Original:
		s += fmt.Sprintf(" (theta %v)", k.theta)
	case k.Distribution == "hotspot":
		s += fmt.Sprintf(" (%v %% of the operations on %v %% of the records)", 100*k.hotShare, 100*k.hotData)
	}
	return s
}

// class is a number of items, each requested with the same probability.
type class struct{ items, each float64 }

// popularity returns the items by popularity, the most popular first. Their probabilities add up to 1. The first ranks
// are single, later ones are in groups that grow with the rank: within a group, the density of a zipfian changes by
// less than 4 %.
func (k Keys) popularity() []class {
	n := k.Records
	switch k.Distribution {
	case "hotspot":
		hot := math.Floor(n * k.hotData)
		if hot < 1 || hot >= n {
			return []class{{n, 1 / n}}
		}
		return []class{{hot, k.hotShare / hot}, {n - hot, (1 - k.hotShare) / (n - hot)}}
	case "zipfian", "latest":
		if k.Original {
			return grouped(k.items(), ycsbBelow(k.items()))
		}
		below := zipfBelow(k.theta)
		total := below(n)
		return grouped(n, func(r float64) float64 { return below(r) / total })
	case own.FoundKeys:
		var list []class
		for _, c := range *k.shares {
			list = append(list, class{c.items * n, c.each / n})
		}
		return list
	case "exponential":
		gamma := -math.Log(1-k.percentile/100) / (n * k.newPart)
		total := -math.Expm1(-gamma * n)
		return grouped(n, func(r float64) float64 { return -math.Expm1(-gamma*r) / total })
	}
	return []class{{n, 1 / n}}
}

// items is the number of ranks from which the generator draws. YCSB's zipfian always draws from 10^10 and hashes the
// rank.
func (k Keys) items() float64 {
	if k.Original && k.Distribution == "zipfian" {
		return 1e10
	}
	return k.Records
}

// grouped makes classes from the probability of all ranks below r.
func grouped(n float64, below func(r float64) float64) []class {
	var out []class
	from, lower := 0.0, 0.0
	for from < n {
		to := min(n, math.Floor(from*1.04)+1)
		upper := below(to)
		if p := upper - lower; p > 0 {
			out = append(out, class{to - from, p / (to - from)})
		}
		from, lower = to, upper
	}
	return out
}

// zipfBelow returns the sum of i^−θ for i = 1 … r as a function of r. The first terms are added. The rest is the
// integral with the first terms of Euler and Maclaurin, whose error is below 1e-9 for r ≥ 100.
func zipfBelow(theta float64) func(r float64) float64 {
	const direct = 100
	var sums [direct + 1]float64
	for i := 1; i <= direct; i++ {
		sums[i] = sums[i-1] + math.Pow(float64(i), -theta)
	}
	t := 1 - theta
	first, firstEnd := math.Pow(direct, t), math.Pow(direct, -theta)
	return func(r float64) float64 {
		if r <= direct {
			return sums[int(max(r, 0))]
		}
		tail := math.Log(r / direct)
		if math.Abs(t) > 1e-9 {
			tail = (math.Pow(r, t) - first) / t
		}
		end := math.Pow(r, -theta)
		return sums[direct] + tail + (end-firstEnd)/2 - theta*(end/r-firstEnd/direct)/12
	}
}

// ycsbBelow returns the probability that YCSB's zipfian generator over n items draws a rank below r. It draws u and
// returns rank 0 if u·ζ < 1, rank 1 if u·ζ < 1+2^−θ, and otherwise n·(ηu−η+1)^α rounded down, which is solved for u
// here.
func ycsbBelow(n float64) func(r float64) float64 {
	const theta = 0.99
	zetaN := 26.46902820178302 // that of 10^10 items, as YCSB has it
	if n != 1e10 {
		zetaN = zipfBelow(theta)(n)
	}
	zeta2 := 1 + math.Pow(0.5, theta)
	eta := (1 - math.Pow(2/n, 1-theta)) / (1 - zeta2/zetaN)
	return func(r float64) float64 {
		switch {
		case r <= 0:
			return 0
		case r <= 1:
			return 1 / zetaN
		case r <= 2:
			return zeta2 / zetaN
		}
		return min(1, 1-(1-math.Pow(min(1, r/n), 1-theta))/eta)
	}
}
