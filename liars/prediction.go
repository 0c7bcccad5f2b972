package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/plimsoll-bench/plimsoll/capacity/predict/lawtest"
)

// predictionFamily predicts levels of laws with known truth, and sizes deployments by them. The laws are honest inputs:
// an accused one is a true throughput that the stated interval or limit excludes.
func predictionFamily() family {
	f := family{name: "prediction", verdict: "`plimsoll size --what-if`: the 95 % interval of the throughput between measured levels, and its upper limit " +
		"beyond them; `plimsoll size`: the 95 % interval of the number of nodes. *Accused* is a truth that they exclude, *no verdict* a refusal", parallel: 2,
		notFound: []string{
			"A law that the levels do not show: a limit between two levels that hides between the levels around it.",
			"A deployment that changes between the measurement of its levels and its use.",
		}}
	for _, beyond := range []bool{false, true} {
		where, suffix := "a level between the measured ones", "-between"
		nodes, notFound := atMost(0.05), ""
		if beyond {
			where, suffix = "a level up to twice beyond the measured ones", "-beyond"
			nodes, notFound = unclaimed, "the lower end of the interval is too high in some cases, so it is an estimate and no bound"
		}
		for _, k := range lawtest.Kinds {
			f.rows = append(f.rows, row{name: named(k) + suffix, honest: k.Name + ", " + where, goal: atMost(0.10),
				small: 10, full: 200,
				try: func(_ context.Context, t *trial) (answer, error) { return t.outcome(k.Try(t.rand, beyond)), nil }})
		}
		f.rows = append(f.rows, row{name: "all" + suffix, honest: "one of these laws, " + where, goal: goal{0.02, 0.10}, small: 20, full: 500,
			try: func(_ context.Context, t *trial) (answer, error) {
				return t.outcome(anyLaw(t.rand).Try(t.rand, beyond)), nil
			}},
			row{name: "wide" + suffix, honest: "one of these laws without a cliff, " + where + ": *accused* are ends that differ by more than a factor of 2, or a limit that is twice the truth",
				goal: atMost(0.15), small: 20, full: 200, try: func(_ context.Context, t *trial) (answer, error) {
					o := lawtest.Kinds[t.rand.IntN(len(lawtest.Kinds)-1)].Try(t.rand, beyond)
					if o.Held = o.Wide <= 2; !o.Held {
						o.Text += " is wide"
					}
					return t.outcome(o), nil
				}},
			row{name: "nodes" + suffix, honest: "the number of nodes by one of these laws, " + strings.Replace(where, "level", "size", 1), goal: nodes, small: 10, full: 200,
				notFound: notFound, try: func(_ context.Context, t *trial) (answer, error) {
					return t.outcome(anyLaw(t.rand).Size(t.rand, beyond)), nil
				}})
	}
	f.rows = append(f.rows, row{name: "jump-beyond", honest: lawtest.Jump.Name + " beyond the measured levels", goal: unclaimed, small: 10, full: 200,
		notFound: "the limit is too low beyond the jump: no measured level shows it",
		try: func(_ context.Context, t *trial) (answer, error) {
			return t.outcome(lawtest.Jump.Try(t.rand, true)), nil
		}})
	return f
}

func anyLaw(r *rand.Rand) lawtest.Kind { return lawtest.Kinds[r.IntN(len(lawtest.Kinds))] }

// named is the name of a kind of laws in the name of a row.
func named(k lawtest.Kind) string {
	words := strings.Fields(strings.TrimPrefix(k.Name, "a "))
	name := strings.ToLower(strings.ReplaceAll(words[0], "'s", ""))
	if name == "the" {
		return "scalability-law"
	}
	return name
}

// outcome is the answer for a prediction.
func (t *trial) outcome(o lawtest.Outcome) answer {
	t.say("%s", fmt.Sprint(o.Text, o.Refused))
	switch {
	case o.Refused != "":
		return undecided
	case o.Held:
		return cleared
	}
	return accused
}
