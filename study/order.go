package study

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// order lines the trials up and counts how often a factor that is expensive to change is changed.
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
	if asked.Order == spec.OrderBatched {
		o.batches()
	} else {
		o.blocks()
	}
	for i := range o.trials {
		o.trials[i].Number = i + 1
	}
	return o
}

// canaryEvery is after how many trials a canary is run. Chosen, it is a tenth of all trials, so that a study has
// about ten canaries, which is enough for a trend test (it needs five to be able to say anything); but never less
// than 5, so that they cost no more than a fifth of the time, and never more than 20, so that drift between two of
// them stays visible. A study of one configuration needs none: each of its trials is one.
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

// blocks runs every configuration once per block, in an order that is drawn for each block.
func (o *order) blocks() {
	all := make([]int, len(o.configs))
	for i := range all {
		all[i] = i
	}
	n := 0
	if o.canary > 0 && o.spec.Trials > 0 {
		o.addCanary()
	}
	for block := 1; block <= int(o.spec.Trials); block++ {
		for _, c := range o.shuffled(all) {
			o.add(c, block)
			if n++; o.canary > 0 && n%o.canary == 0 {
				o.addCanary()
			}
		}
	}
}

// batches runs the configurations that share the levels of the expensive factors together, in blocks of their own.
// The blocks of different batches have different numbers: they were not run side by side, and nothing in them may
// be paired. A chosen canary comes before each batch and after the last one: within a batch the baseline would mean
// the change that batches are there to save.
func (o *order) batches() {
	groups := o.groups()
	every := 0
	if o.spec.Canary > 0 {
		every = o.canary
	}
	n := 0
	for i, g := range o.shuffledGroups(groups) {
		if o.canary > 0 && every == 0 {
			o.addCanary()
		}
		for block := 1; block <= int(o.spec.Trials); block++ {
			for _, c := range o.shuffled(g) {
				if every > 0 && n%every == 0 {
					o.addCanary()
				}
				o.add(c, i*int(o.spec.Trials)+block)
				n++
			}
		}
	}
	if o.canary > 0 && o.spec.Trials > 0 && (every == 0 || n%every == 0) {
		o.addCanary()
	}
}

// groups sorts the configurations by the levels of the expensive factors, in the order of their first one.
func (o *order) groups() [][]int {
	var groups [][]int
	at := map[string]int{}
	for i, c := range o.configs {
		key := batchKey(o.spec, c)
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

// batchKey names the levels of the expensive factors.
func batchKey(asked *spec.Study, c record.Configuration) string {
	var levels []string
	for _, f := range asked.Batch {
		levels = append(levels, f+"="+c.Levels[f])
	}
	return strings.Join(levels, ",")
}

func (o *order) shuffled(configs []int) []int {
	out := make([]int, len(configs))
	for i, j := range o.rng.Perm(len(configs)) {
		out[i] = configs[j]
	}
	return out
}

func (o *order) shuffledGroups(groups [][]int) [][]int {
	out := make([][]int, len(groups))
	for i, j := range o.rng.Perm(len(groups)) {
		out[i] = groups[j]
	}
	return out
}

func (o *order) add(config, block int) {
	o.trials = append(o.trials, record.Trial{
		Attempt: 1, Block: block, Configuration: o.configs[config].ID, Kind: record.TrialCompared,
		Status: record.TrialPlanned,
	})
}

func (o *order) addCanary() {
	o.trials = append(o.trials, record.Trial{
		Attempt: 1, Configuration: o.configs[0].ID, Kind: record.TrialCanary, Status: record.TrialPlanned,
	})
}

// changes counts how often the levels of the expensive factors change between two trials.
func (o *order) changes() int {
	keys := map[string]string{}
	for _, c := range o.configs {
		keys[c.ID] = batchKey(o.spec, c)
	}
	n, last := 0, ""
	for i, t := range o.trials {
		if key := keys[t.Configuration]; i == 0 || key != last {
			if i > 0 {
				n++
			}
			last = key
		}
	}
	return n
}

// text says how the order was made, and what it costs in certainty.
func (o *order) text() []string {
	asked := o.spec
	if len(o.trials) == 0 {
		return nil
	}
	var out []string
	if asked.Order == spec.OrderBatched {
		groups := len(o.groups())
		out = append(out,
			fmt.Sprintf("batched by %s with seed %d: %d batches, each with its own blocks; %s changes %d times, compared with up to %d "+
				"in randomised blocks", strings.Join(asked.Batch, ", "), asked.Seed, groups, strings.Join(asked.Batch, ", "), o.changes(), len(o.trials)-1),
			"limitation: comparisons within a batch are as reliable as in blocks. Between batches a drift looks like an effect, "+
				"and no interval shows it. In simulations without any difference, a third to nearly all comparisons between "+
				"batches found one, where 1 in 20 should. Trust a difference between batches only if it is far larger than the "+
				"drift of the canaries")
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
