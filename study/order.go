package study

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// order is the order of the trials.
type order struct {
	spec    *spec.Study
	configs []record.Configuration
	rng     *rand.Rand
	canary  int // a canary after so many trials, 0 for none
	trials  []record.Trial
}

// newOrder plans the order of all trials. The same specification and seed give the same order.
func newOrder(asked *spec.Study, configs []record.Configuration) *order {
	o := &order{spec: asked, configs: configs, rng: rand.New(rand.NewPCG(asked.Seed, forOrder))}
	o.canary = canaryEvery(asked, len(configs))
	o.lineUp()
	return o
}

// canaryEvery returns after how many trials a canary is run, 0 for never. By default it is a tenth of all trials: about
// ten canaries are enough for a trend test, which needs five. It is at least 5, so that canaries cost no more than a
// fifth of the time, and at most 20, so that drift between two of them stays visible. A study of one configuration
// needs none, because each of its trials is one.
func canaryEvery(asked *spec.Study, configs int) int {
	total := configs * int(asked.Trials)
	switch {
	case asked.Canary < 0 || configs < 2:
		return 0
	case asked.Canary > 0:
		return int(asked.Canary)
	}
	return max(5, min(20, (total+9)/10))
}

// lineUp runs every configuration once per block, in random orders that are balanced. In batches, configurations that
// share the levels of the expensive factors run together, in blocks with their own numbers, because trials of different
// batches must not be paired. Their canaries come before each batch and after the last one by default, because a
// baseline within a batch would mean the change that batches save.
func (o *order) lineUp() {
	trials := int(o.spec.Trials)
	if trials == 0 {
		return
	}
	around := o.canary > 0 && o.spec.Order == spec.OrderBatched && o.spec.Canary == 0
	n := 0
	due := func() bool { return o.canary > 0 && !around && n%o.canary == 0 }
	for i, group := range shuffled(o.rng, o.groups()) {
		if around {
			o.add(record.TrialCanary, 0, 0)
		}
		for block, order := range o.orders(group, trials) {
			for _, c := range order {
				if due() {
					o.add(record.TrialCanary, 0, 0)
				}
				o.add(record.TrialCompared, c, i*trials+block+1)
				n++
			}
		}
	}
	if around || due() {
		o.add(record.TrialCanary, 0, 0)
	}
}

// orders returns the order of each block. A study until decided may end after each look, so its orders are balanced up
// to each.
func (o *order) orders(group []int, trials int) [][]int {
	if !o.spec.UntilDecided {
		return balanced(o.rng, group, trials)
	}
	var all [][]int
	for len(all) < trials {
		all = append(all, balanced(o.rng, group, spec.FirstLook)...)
	}
	return all[:trials]
}

// groups groups the configurations by the levels of the expensive factors, in the order of the first one of each group.
func (o *order) groups() [][]int {
	var groups [][]int
	at := map[string]int{}
	for i, c := range o.configs {
		key := o.spec.BatchOf(c.Levels)
		g, ok := at[key]
		if !ok {
			g = len(groups)
			at[key] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// balanced returns so many random orders of a list, in random order: each with its reverse, so that of two elements
// each comes first as often as the other (in an odd number of orders once more). A drift then changes both alike. In
// orders that are drawn independently, one is often first by chance, and in small studies of 7 or 8 blocks a drift
// without noise alone is found as a difference in 7 to 13 of 100.
func balanced[T any](rng *rand.Rand, list []T, n int) [][]T {
	orders := make([][]T, 0, n+1)
	for len(orders) < n {
		order := shuffled(rng, list)
		reverse := slices.Clone(order)
		slices.Reverse(reverse)
		orders = append(orders, order, reverse)
	}
	return shuffled(rng, orders[:n])
}

func shuffled[T any](rng *rand.Rand, list []T) []T {
	out := make([]T, 0, len(list))
	for _, i := range rng.Perm(len(list)) {
		out = append(out, list[i])
	}
	return out
}

func (o *order) add(kind string, config, block int) {
	o.trials = append(o.trials, record.Trial{Number: len(o.trials) + 1, Attempt: 1, Block: block,
		Configuration: o.configs[config].ID, Kind: kind, Status: record.TrialPlanned})
}

// stretches counts the groups of consecutive trials with the same key, and the different keys.
func stretches(trials []record.Trial, keys map[string]string) (n, different int) {
	seen := map[string]bool{}
	for i, t := range trials {
		if key := keys[t.Configuration]; i == 0 || key != keys[trials[i-1].Configuration] {
			n++
			seen[key] = true
		}
	}
	return n, len(seen)
}

// text describes the order, and how certain verdicts are with it.
func (o *order) text() []string {
	asked := o.spec
	if len(o.trials) == 0 {
		return nil
	}
	var out []string
	if asked.Order == spec.OrderBatched {
		keys := map[string]string{}
		for _, c := range o.configs {
			keys[c.ID] = o.spec.BatchOf(c.Levels)
		}
		n, batches := stretches(o.trials, keys)
		out = append(out,
			fmt.Sprintf("batched by %s with seed %d: %d batches, each with its own blocks; %[1]s changes %[4]d times, compared with up "+
				"to %[5]d in randomised blocks", strings.Join(asked.Batch, ", "), asked.Seed, batches, n-1, len(o.trials)-1),
			"limitation: between batches a drift looks like an effect, so comparisons between batches have no verdict, only "+
				"figures. Comparisons within a batch are as reliable as in blocks")
	} else {
		out = append(out, fmt.Sprintf("randomised blocks with seed %d: every configuration once per block, including the baseline", asked.Seed))
	}
	return append(out, o.canaryText())
}

func (o *order) canaryText() string {
	switch {
	case len(o.configs) < 2:
		return "no canaries, because all trials are of the baseline and show drift"
	case o.canary == 0:
		return "no canaries (canary: -1), so drift between trials is not visible"
	case o.spec.Order == spec.OrderBatched && o.spec.Canary == 0:
		return "canaries: the baseline before each batch and after the last one (canary: -1 avoids the changes that they need)"
	case o.spec.Canary > 0:
		return fmt.Sprintf("canaries: the baseline before the first trial and after every %d", o.canary)
	}
	return fmt.Sprintf("canaries: the baseline before the first trial and after every %d: a tenth of all trials, from 5 to 20", o.canary)
}
