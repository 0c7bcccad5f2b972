package predict

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity/simulate"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Drilled is a drill with its directory.
type Drilled struct {
	Dir string
	*record.Drill
}

// The keys of a question about failures besides kinds of failures.
const (
	keyShards   = "shards"
	keyOps      = "ops"
	keyElection = "election"
)

const (
	year  = 365 * 24 * time.Hour
	years = 100 // that are simulated
)

// The most that a question may have.
const (
	mostMembers  = 100_000
	mostFailures = 100_000
)

// Failures simulates years with failures of a deployment, 'shards=333,ops=300k,kill=200,power-off=10', if the outages
// of each drill are like those of the other drills. Each failure is a round of a drill, drawn as a whole. The question
// has the number of failures of each kind in a year, 'ops' operations per second of all shards, and 'election', the
// time without a primary after which a set of mongod elects. An error is one of the question.
func Failures(drills []Drilled, text string, tool record.Tool) (*record.Failures, error) {
	out := &record.Failures{SchemaVersion: record.SchemaVersion, Kind: record.KindFailures, Tool: tool, Asked: text,
		Kinds: []record.FailuresKind{}, Checks: []record.FailuresCheck{}, Validity: []measure.Finding{}}
	if len(drills) > 0 {
		out.Target = drills[0].Specification.Run.Target
	}
	rounds := roundsOf(out, drills)
	if err := parseFailures(out, rounds); err != nil {
		return nil, fmt.Errorf("failures: %w", err)
	}
	checkOutages(out, rounds)
	pools := make([]pool, len(out.Kinds))
	for i := range out.Kinds {
		k := &out.Kinds[i]
		of := slices.DeleteFunc(slices.Clone(rounds), func(r round) bool { return r.action != k.Action })
		if why := refusal(out, k.Action, of); why != "" {
			out.Refused = append(out.Refused, k.Action+": "+why)
		}
		pools[i] = poolOf(of, time.Duration(out.Election))
		k.Drills, k.Rounds, k.Outage, k.Away = pools[i].describe()
	}
	if len(out.Refused) > 0 {
		return out, nil
	}
	if out.Shards > mostMembers/out.Members {
		return nil, fmt.Errorf("failures: %d shards of %d have more than %d members", out.Shards, out.Members, mostMembers)
	}
	out.Year = simulateYears(out, pools)
	out.Validity = assumptions(out)
	return out, nil
}

// parseFailures reads the question. Every key that is not another one is a kind of failure, so the hint of a mistyped
// one knows the kinds of the drills.
func parseFailures(out *record.Failures, rounds []round) error {
	out.Shards = 1
	known := []string{keyShards, keyOps, keyElection}
	for _, r := range rounds {
		known = append(known, r.action)
		out.Members = r.members
	}
	seen, sum := map[string]bool{}, 0.0
	for part := range strings.SplitSeq(out.Asked, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || key == "" || value == "" {
			return fmt.Errorf("%q has no key or no value. Write it like kill=200", part)
		}
		if seen[key] {
			return fmt.Errorf("%s is given twice", key)
		}
		seen[key] = true
		var err error
		switch key {
		case keyShards:
			out.Shards, err = strconv.Atoi(value)
			if err == nil && (out.Shards < 1 || out.Shards > mostMembers) {
				err = fmt.Errorf("there can be 1 to %d shards", mostMembers)
			}
		case keyOps:
			var rate spec.Rate
			if rate, err = spec.ParseRate(value); err == nil && !(rate > 0 && rate <= 1e12) {
				err = fmt.Errorf("%s is not a load", value)
			}
			out.Rate = float64(rate)
		case keyElection:
			var d spec.Duration
			if d, err = spec.ParseDuration(value); err == nil && d <= 0 {
				err = fmt.Errorf("it must be above 0")
			}
			out.Election = int64(d)
		default:
			k := record.FailuresKind{Action: key}
			if k.Number, err = strconv.ParseFloat(value, 64); err != nil || !(k.Number >= 0) {
				err = fmt.Errorf("%q is not a number of failures in a year%s", value, nearest.DidYouMean(key, known))
			}
			sum += k.Number
			out.Kinds = append(out.Kinds, k)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	switch {
	case sum == 0:
		return fmt.Errorf("it has no failures. Write their number in a year, like 'shards=333,kill=200'")
	case sum > mostFailures:
		return fmt.Errorf("%g failures are more than %d", sum, mostFailures)
	}
	for i := range out.Kinds {
		if a := out.Kinds[i].Action; !slices.Contains(known, a) {
			if hint := nearest.DidYouMean(a, known); hint != "" {
				return fmt.Errorf("%s: no drill has this failure%s", a, hint)
			}
		}
	}
	return nil
}

// pool are the rounds of each drill of one kind of failure.
type pool struct {
	drills   [][]round
	election time.Duration
}

func poolOf(of []round, election time.Duration) pool {
	by := map[string][]round{}
	for _, r := range near(of, election) {
		by[r.dir] = append(by[r.dir], r)
	}
	p := pool{election: election}
	for _, dir := range slices.Sorted(maps.Keys(by)) {
		p.drills = append(p.drills, by[dir])
	}
	return p
}

func (p *pool) describe() (drills, rounds int, outage, away int64) {
	var outages, aways []float64
	for _, d := range p.drills {
		for _, r := range d {
			outages, aways = append(outages, float64(r.with(p.election))), append(aways, float64(r.away))
		}
	}
	if len(outages) > 0 {
		outage, away = int64(measure.Median(outages)), int64(measure.Median(aways))
	}
	return len(p.drills), len(outages), outage, away
}

// resampled draws as many drills as there are, with repetition, and from them whole rounds, so that what belongs
// together stays together. So the variation between the drills is in the interval.
func (p *pool) resampled(r *rand.Rand) func(r *rand.Rand) (outage, away time.Duration) {
	var of []round
	for range p.drills {
		of = append(of, p.drills[r.IntN(len(p.drills))]...)
	}
	return func(r *rand.Rand) (time.Duration, time.Duration) {
		x := of[r.IntN(len(of))]
		return x.with(p.election), x.away
	}
}

func simulateYears(out *record.Failures, pools []pool) *record.FailuresYear {
	x := &record.FailuresYear{Years: years}
	var down, longest, away []float64
	for i := range years {
		r := rand.New(rand.NewPCG(uint64(i), 28))
		f := simulate.Fleet{Shards: out.Shards, Members: out.Members, Time: year, Seed: uint64(i)}
		for j := range pools {
			f.Failures = append(f.Failures, simulate.Failures{Mean: out.Kinds[j].Number, Draw: pools[j].resampled(r)})
		}
		o := f.Run()
		x.Failures += float64(o.Failures) / years
		x.Outages += float64(len(o.Outages)) / years
		most := time.Duration(0)
		for _, a := range o.Outages {
			most = max(most, a.For)
			if a.Majority {
				x.Majority += 1. / years
			}
		}
		down, longest, away = append(down, o.Down.Seconds()), append(longest, most.Seconds()), append(away, o.Away.Seconds())
	}
	x.Down, x.Longest, x.Away = rangeOf(down), rangeOf(longest), rangeOf(away).Median
	x.Available = 1 - x.Down.Median/year.Seconds()/float64(out.Shards)
	x.Operations = math.Round(out.Rate / float64(out.Shards) * x.Down.Median)
	return x
}

// rangeOf is the median and the middle 90 % of a list.
func rangeOf(list []float64) record.FailuresRange {
	list = slices.Sorted(slices.Values(list))
	cut := len(list) / 20
	return record.FailuresRange{Median: measure.Median(list), Low: list[cut], High: list[len(list)-1-cut]}
}

func assumptions(out *record.Failures) []measure.Finding {
	list := []measure.Finding{}
	add := func(id, text string, values ...any) {
		list = append(list, measure.Finding{ID: id, Severity: measure.Warning, Text: fmt.Sprintf(text, values...)})
	}
	if out.Shards > 1 {
		add("shards-independent", "the %d shards have equal parts of the load and share nothing. These records do not "+
			"show what shards share, such as routers and the network", out.Shards)
	}
	if out.Members > 1 {
		add("secondaries-silent", "failures of secondaries cause no outage while a majority remains. Drill one to see whether "+
			"that is so")
	}
	return list
}

// leastDrills is how many drills of a kind are needed, because each is compared with the others.
const leastDrills = 2

// outageLimit is by how much the median outage of the other drills may differ from that of one.
const outageLimit = 0.10

// refusal says why there is no answer for failures of a kind, "" if there is one.
func refusal(out *record.Failures, kind string, of []round) string {
	setups, dirs, elections := map[drillSetup]bool{}, map[string]bool{}, map[time.Duration]bool{}
	for _, r := range of {
		setups[r.drillSetup], dirs[r.dir], elections[r.election] = true, true, true
	}
	failed := 0
	for _, c := range out.Checks {
		if !c.Holds && strings.HasPrefix(c.Setup, kind+" ") {
			failed++
		}
	}
	election := time.Duration(out.Election)
	switch {
	case len(dirs) < leastDrills:
		return fmt.Sprintf("two drills of it are needed, because each is compared with the others, and the records have %d", len(dirs))
	case len(setups) > 1:
		return "its drills differ in engine, members, durability or failover: give those of one setup"
	case of[0].members != out.Members:
		return fmt.Sprintf("its drills have %d members, and those of another kind have %d", of[0].members, out.Members)
	case failed > 0:
		return fmt.Sprintf("the outages of %s are off by more than %s", figure.Plural(failed, "drill"), figure.Limit(outageLimit))
	case election > 0 && elections[0]:
		return "other software than the servers elects in its drills, so election= does not apply"
	case election > 0 && !elections[election] && len(elections) < leastDrills:
		return "its drills elect after one time, so it is not known whether the outage follows it: drill another one"
	case election == 0 && len(elections) > 1:
		return "its drills elect after different times: say with election= which one the deployment has"
	}
	return ""
}
