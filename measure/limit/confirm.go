package limit

import (
	"fmt"
	"math"
	"slices"
)

// Reduced is the share to which a capacity is reduced to confirm that it limits: 25 % less.
const Reduced = 0.75

// The elasticities that confirm and refute.
const (
	confirms = 0.7
	refutes  = 0.2
)

// Elasticity is by how much the throughput changed with a capacity: Δln X / Δln C of pairs of throughputs, with the
// capacity reduced to the share and with all of it. false without a pair.
func Elasticity(pairs [][2]float64, share float64) (float64, bool) {
	sum, n := 0.0, 0.0
	for _, p := range pairs {
		if p[0] > 0 && p[1] > 0 {
			sum, n = sum+math.Log(p[0]/p[1]), n+1
		}
	}
	if n == 0 || share <= 0 || share == 1 {
		return 0, false
	}
	return sum / n / math.Log(share), true
}

// Only leaves of a limit what a change of a capacity has confirmed, and the labels whose signals were right for planted
// limits. The answer for the latency is not confirmed by a change. A server that a quota stops answers as late as one
// behind a full network, so *network* limits the throughput only where quotas were seen.
func (l *Limit) Only(throughput, latency []Label) {
	for _, x := range []struct {
		a     *Answer
		right []Label
	}{{&l.Throughput, throughput}, {&l.Latency, latency}} {
		if x.a.Label == Unknown || x.a.Strength == Confirmed || slices.Contains(x.right, x.a.Label) {
			continue
		}
		*x.a = Answer{Label: Unknown, Strength: Weak, Evidence: []string{"the signals point to " + string(x.a.Label) +
			", and nothing has confirmed it"}}
	}
	if a := &l.Throughput; a.Label == Network && slices.Contains(l.NotChecked, unseenQuotas) {
		*a = Answer{Label: Unknown, Strength: Weak, Evidence: []string{a.Evidence[0] +
			". A quota of the processors of the servers looks the same, and is seen only on this machine and in labs"}}
	}
	l.More = more[l.Main().Label]
}

// Confirm takes into account that a capacity was reduced to [Reduced], and what came of it: at least 0.7 confirms the
// label, at most 0.2 refutes it, and between these another limit is near.
func (l *Limit) Confirm(what string, elasticity float64) {
	l.Elasticity = &elasticity
	text := fmt.Sprintf("with 25 %% less %s, the throughput changed by %+.0f %%", what, (math.Pow(Reduced,
		elasticity)-1)*100)
	a := &l.Throughput
	switch {
	case elasticity >= confirms:
		a.Strength = Confirmed
		a.Evidence = []string{a.Evidence[0], text}
	case elasticity <= refutes:
		*a = Answer{Label: Unknown, Strength: Weak, Evidence: []string{string(a.Label) + " was refuted: " + text}}
		l.More = ""
	default:
		a.Evidence = []string{a.Evidence[0], text + ", so another limit is near"}
	}
}
