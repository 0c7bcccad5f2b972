package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// maxTrip is the share of the median service time that the round trip to the target may take without a finding.
const maxTrip = 0.5

// performance is what an agent on another machine did, from its own record.
type performance struct {
	record.ClientShare
	own   *record.Run
	phase *record.PhaseResult
}

func (p *performance) name() string { return name(p.Number) + " on " + p.Host }

// remote reports whether the clients are on other machines.
func (t *coordinator) remote() bool {
	return slices.ContainsFunc(t.members, func(m *member) bool { return !m.facts.Local })
}

// performances are those of the agents on other machines that handed over a result.
func (t *coordinator) performances() (list []performance) {
	for i, share := range t.shares() {
		m := t.members[i]
		if m.facts.Local || m.done == nil || m.done.Run == nil {
			continue
		}
		if p := m.done.Run.Phase(load.PhaseMeasure); p != nil && p.Seconds > 0 {
			list = append(list, performance{share, m.done.Run, p})
		}
	}
	return list
}

// judgeMachines judges each agent on another machine by the cores and the calibration there and by what it found about
// its own process, and several on one machine together. Of each finding it keeps the worst.
func judgeMachines(agents []performance) []measure.Finding {
	worst := worstFindings{}
	for i := range agents {
		p := &agents[i]
		worst.add(measure.ClientCPU(p.name(), p.CPUCores, p.Cores)...)
		worst.add(measure.ClientCeiling(p.name(), p.phase.Rates.Attempted, p.Ceiling)...)
		for _, f := range p.own.Validity {
			if slices.Contains(measure.OfProcess(), f.ID) {
				f.Text = p.name() + ": " + f.Text
				worst.add(f)
			}
		}
	}
	var shared []string
	for _, group := range byMachine(agents) {
		who, cores := group.name(), group.cores()
		used, rate := 0.0, 0.0
		for i := range group {
			used, rate = used+group[i].CPUCores, rate+group[i].phase.Rates.Attempted
		}
		worst.add(measure.ClientCPU(who, used, cores)...)
		worst.add(measure.ClientCeiling(who, rate, group.ceiling())...)
		shared = append(shared, fmt.Sprintf("%s share its %s cores", who, figure.Significant(cores)))
	}
	found := worst.list()
	if len(shared) > 0 {
		found = append(found, measure.Finding{ID: "clients-share-machine", Severity: measure.Note,
			Text: strings.Join(shared, "; ") + ". They are judged together. If the cores are the limit, place one agent on each machine."})
	}
	return append(found, farFinding(agents)...)
}

// worstFindings are the worst findings by ID.
type worstFindings map[string]*worstFinding

type worstFinding struct {
	measure.Finding
	excess float64 // its value by its limit
	others int
}

func (w worstFindings) add(list ...measure.Finding) {
	for _, f := range list {
		excess := 0.0
		if f.Value != nil && f.Limit != nil && *f.Limit > 0 {
			excess = *f.Value / *f.Limit
		}
		have := w[f.ID]
		if have == nil {
			w[f.ID] = &worstFinding{Finding: f, excess: excess}
			continue
		}
		have.others++
		graver := measure.Worst([]measure.Finding{f, have.Finding})
		if f.Severity == have.Severity && excess > have.excess || f.Severity != have.Severity && f.Severity == graver {
			have.Finding, have.excess = f, excess
		}
	}
}

func (w worstFindings) list() (found []measure.Finding) {
	for _, id := range slices.Sorted(maps.Keys(w)) {
		f := w[id]
		if f.others > 0 {
			f.Text += fmt.Sprintf(" This is the worst of %d such findings.", f.others+1)
		}
		found = append(found, f.Finding)
	}
	return found
}

// group is at least two agents on one machine.
type group []performance

func byMachine(agents []performance) (groups []group) {
	at := map[string]int{}
	for _, p := range agents {
		i, known := at[p.Machine]
		if p.Machine == "" || !known {
			i = len(groups)
			at[p.Machine], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], p)
	}
	return slices.DeleteFunc(groups, func(g group) bool { return len(g) < 2 })
}

func (g group) name() string {
	var numbers []string
	for i := range g {
		numbers = append(numbers, strconv.Itoa(g[i].Number))
	}
	last := len(numbers) - 1
	return "clients " + strings.Join(numbers[:last], ", ") + " and " + numbers[last] + " on " + g[0].Host
}

// cores are those of the machine. Each agent may have a lower limit of its own.
func (g group) cores() float64 {
	return float64(slices.MaxFunc(g, func(a, b performance) int {
		return cmp.Compare(a.own.Environment.Threads, b.own.Environment.Threads)
	}).own.Environment.Threads)
}

// ceiling is that of the machine; 0 if it is unknown, or if an agent was calibrated with fewer cores.
func (g group) ceiling() (ceiling float64) {
	for i := range g {
		if g[i].Ceiling == 0 || g[i].Cores < float64(g[i].own.Environment.Threads) {
			return 0
		}
		ceiling = max(ceiling, g[i].Ceiling)
	}
	return ceiling
}

// farFinding names the agent whose latency has the largest share of round trip.
func farFinding(agents []performance) []measure.Finding {
	var far *performance
	share := maxTrip
	near := time.Duration(0)
	for i := range agents {
		p := &agents[i]
		trip := time.Duration(p.RoundTrip)
		if trip > 0 && (near == 0 || trip < near) {
			near = trip
		}
		if s := p.phase.All.Service; s != nil && s.P50 != nil && trip > 0 && float64(trip) > share*float64(*s.P50) {
			far, share = p, float64(trip)/float64(*s.P50)
		}
	}
	if far == nil {
		return nil
	}
	limit := maxTrip
	return []measure.Finding{{ID: "client-network", Severity: measure.Note, Value: &share, Limit: &limit,
		Unit: measure.UnitShare,
		Text: fmt.Sprintf("the shortest round trip from %s to the target was %s, %s of its median latency (the nearest client: %s). "+
			"Latencies describe the network more than the target. Place agents near the target to measure the target.",
			far.name(), figure.Duration(time.Duration(far.RoundTrip)), figure.Percent(share), figure.Duration(near))}}
}
