package fleet

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Limits of the differences between clients.
const (
	maxSkew    = 100 * time.Millisecond // a tenth of an interval
	maxOutside = 0.05                   // of the operations
)

// report adds up the reports of the clients. A lost client may have none.
func (t *coordinator) report() load.Report {
	w := t.merger.window
	r := load.Report{Started: t.started, From: w.from, Until: w.to, End: w.to, Scheduled: t.merger.dims.Scheduled,
		ByCount: true}
	for i, m := range t.members {
		if m.done == nil || m.done.Run == nil {
			until := t.merger.clients[i] // its last message
			r.Measured.Sent += until.sum.Attempted
			r.Measured.Dropped += until.dropped
			r.Measured.Offered += until.sum.Attempted + until.dropped
			r.ByCount = false
			continue
		}
		c := m.done.Run.Course
		r.Measured.Offered += c.Offered
		r.Measured.Sent += c.Sent
		r.Measured.Dropped += c.Dropped
		r.Measured.Unsent += c.Unsent
		r.Flushed += c.Flushed
		r.Verified += c.Verified
		r.Mismatch += c.Mismatched
		r.Missing += c.VerifiedMissing
		r.Abandoned += c.Abandoned
		r.Backoffs += c.Backoffs
		r.Displaced += c.Displaced
		r.EventsLost += c.EventsLost
		r.Rejected += rejected(m.done.Run)
		r.ByCount = r.ByCount && c.EndedBy == "operations"
	}
	return r
}

// rejected is the number of operations that a client could not count. Only its findings have it.
func rejected(r *record.Run) int64 {
	for _, f := range r.Validity {
		if f.ID == "not-counted" && f.Value != nil {
			return int64(*f.Value)
		}
	}
	return 0
}

// shares returns the state and rate of each client.
func (t *coordinator) shares() []record.ClientShare {
	var list []record.ClientShare
	for i, m := range t.members {
		s := record.ClientShare{
			Number: i, PID: m.facts.PID, Status: "complete", StartSkew: int64(m.skew), Record: recordOf(i),
		}
		if len(t.turns) > 0 {
			s.Share = t.turns[i].Share()
		}
		if !m.facts.Local {
			offset, uncertainty := m.clock.offset()
			s.Agent, s.Host, s.Machine = m.facts.Name, m.facts.Host, m.facts.Machine
			s.Zone, s.Labels = m.facts.Zone, m.facts.Labels
			s.Cores = float64(m.facts.Cores)
			s.ClockOffset, s.ClockUncertainty = int64(offset), int64(uncertainty)
		}
		switch {
		case m.status != "":
			s.Status, s.Problem, s.LostAt = m.status, m.why, int64(m.lostAt)
		case m.done == nil:
			s.Status = "running"
		}
		measured := t.merger.clients[i]
		s.Succeeded = measured.sum.Succeeded
		if seconds := (measured.to - measured.from).Seconds(); seconds > 0 {
			s.Rate = float64(s.Succeeded) / seconds
		}
		if m.done != nil && m.done.Run != nil {
			s.Cores, s.Ceiling = m.done.Run.Environment.Cores, m.done.Ceiling
			if e := m.done.Run.Environment; !m.facts.Local {
				s.CPU, s.MemoryBytes, s.OS, s.Kernel = e.CPU, e.MemoryBytes, e.OS, e.Kernel
			}
			s.RoundTrip = m.done.Run.Target.RoundTrip
			if p := m.done.Run.Phase(load.PhaseMeasure); p != nil && p.Seconds > 0 {
				s.Succeeded, s.Rate, s.CPUCores = p.Counts.Succeeded, p.Rates.Achieved, p.Client.CPUSeconds/p.Seconds
			}
		}
		list = append(list, s)
	}
	return list
}

// losses lists the lost and failed clients with the reasons.
func (t *coordinator) losses() string {
	var parts []string
	for i, m := range t.members {
		verb := "was " + m.status
		switch m.status {
		case "":
			continue
		case "failed":
			verb = m.status
		}
		parts = append(parts, fmt.Sprintf("%s of %d %s (%s)", name(i), len(t.members), verb, m.why))
	}
	return strings.Join(parts, ", ")
}

// services adds up the use of the REST services of the clients, by phase.
func (t *coordinator) services() map[string]record.ServiceResult {
	sum := map[string]record.ServiceResult{}
	for _, m := range t.members {
		if m.done == nil || m.done.Run == nil {
			continue
		}
		for _, p := range m.done.Run.Phases {
			if use := p.Service; use != nil {
				all := sum[p.Phase]
				all.CPUSeconds, all.MemoryBytes = all.CPUSeconds+use.CPUSeconds, all.MemoryBytes+use.MemoryBytes
				sum[p.Phase] = all
			}
		}
	}
	return sum
}

// findings judges the clients of a run.
func (t *coordinator) findings() []measure.Finding {
	var found []measure.Finding
	if t.lost {
		found = append(found, measure.Finding{ID: "client-lost", Severity: measure.Invalid,
			Text: t.losses() + ". The load was lower than specified from then on, and the result covers the time before. Find out " +
				"what ended the client (memory, a limit, a signal), and run again."})
	}
	if len(t.missed) > 0 {
		found = append(found, measure.Finding{ID: "client-lost-loading", Severity: measure.Note,
			Text: strings.Join(t.missed, ", ") + ". The others loaded its records, and the load was divided among them. Find out what ended " +
				"it (memory, a limit, a signal, its machine)."})
	}
	if at, degraded := t.firstLoss(); degraded && !t.lost {
		found = append(found, measure.Finding{ID: "client-lost", Severity: measure.Warning,
			Text: fmt.Sprintf("%s. From %v on its part of the load is missing, and the rates are those of the others. Find out what ended "+
				"the client (memory, a limit, a signal, its machine), and run again. With --strict such a run ends.",
				t.losses(), at.Round(time.Second))})
	}
	for i, m := range t.members {
		if m.done == nil || m.done.Run == nil {
			continue
		}
		for _, f := range m.done.Run.Validity {
			if f.ID == "service-ended" {
				f.Text = name(i) + ": " + f.Text
				found = append(found, f)
			}
		}
	}
	if f := t.intervalFinding(); f != nil {
		found = append(found, *f)
	}
	if f := t.clockFinding(); f != nil {
		found = append(found, *f)
	}
	if f := t.skewFinding(); f != nil {
		found = append(found, *f)
	}
	found = append(found, judgeMachines(t.performances())...)
	w := t.merger.window
	if all := w.inside + w.outside; all > 0 && !t.lost {
		if out := float64(w.outside) / float64(all); out > maxOutside {
			limit := maxOutside
			found = append(found, measure.Finding{ID: "clients-uneven", Severity: measure.Warning, Value: &out, Limit: &limit,
				Unit: measure.UnitShare,
				Text: fmt.Sprintf("%.3g %% of the operations ended while some client was not running. They are not in the result. End the "+
					"run by its duration, or find out why one client was slower.", out*100)})
		}
	}
	return found
}

// intervalFinding compares the intervals that each client sent with each other, and their sum with the record of the
// client. It names the first client with a difference.
func (t *coordinator) intervalFinding() *measure.Finding {
	for i, m := range t.members {
		sent := t.merger.clients[i]
		why := sent.broken
		if m.done != nil && m.done.Run != nil && m.status == "" {
			if p := m.done.Run.Phase(load.PhaseMeasure); p != nil && p.Counts != sent.sum && why == "" {
				why = fmt.Sprintf("its intervals have %d operations, %d of them successful, and its own record has %d and %d",
					sent.sum.Attempted, sent.sum.Succeeded, p.Counts.Attempted, p.Counts.Succeeded)
			}
		}
		if why != "" {
			return &measure.Finding{ID: "client-intervals", Severity: measure.Invalid, Text: fmt.Sprintf("%s sent intervals that are "+
				"not what it measured: %s. The sum of all clients is wrong. Install the same release on all machines, and run again.",
				name(i), why)}
		}
	}
	return nil
}

// firstLoss is the run time of the first loss after which the others went on.
func (t *coordinator) firstLoss() (at time.Duration, ok bool) {
	for _, m := range t.members {
		if m.lostAt > 0 && (!ok || m.lostAt < at) {
			at, ok = m.lostAt, true
		}
	}
	return at, ok
}

// clockFinding judges the clocks of clients on other machines by the worst one.
func (t *coordinator) clockFinding() *measure.Finding {
	var m *member
	var wrong time.Duration
	doubtful := 0
	for _, c := range t.members {
		if c.facts.Local || c.clock.first == nil {
			continue
		}
		_, uncertainty := c.clock.offset()
		by := max(uncertainty, c.clock.worst)
		if by > maxClock {
			doubtful++
		}
		if by > wrong {
			m, wrong = c, by
		}
	}
	if doubtful == 0 {
		return nil
	}
	value, limit := float64(wrong), float64(maxClock)
	client := fmt.Sprintf("%s (%s)", name(m.number), m.facts.Host)
	text := fmt.Sprintf("the clock of %s is known to ±%v only. Its seconds are not exactly those of the others. Place agents near the "+
		"coordinator, or free the network between them.", client, wrong.Round(time.Millisecond))
	if m.clock.worst == wrong {
		text = fmt.Sprintf("the clock of %s moved by %v against the coordinator's during the run. Let NTP keep both clocks.", client,
			wrong.Round(time.Millisecond))
	}
	if doubtful > 1 {
		text += fmt.Sprintf(" The clocks of %d clients exceed the limit; this one is the worst.", doubtful)
	}
	return &measure.Finding{ID: "client-clock", Severity: measure.Warning, Value: &value, Limit: &limit,
		Unit: measure.UnitTime, Text: text}
}

// skewFinding judges how far apart the clients began. Processes on one machine share its cores, so they may differ by
// more.
func (t *coordinator) skewFinding() *measure.Finding {
	skew := t.spread()
	value, limit, severity := float64(skew), float64(maxSkew), measure.Warning
	if skew <= maxSkew && t.remote() {
		limit, severity = float64(maxClock), measure.Note
	}
	if value <= limit {
		return nil
	}
	return &measure.Finding{ID: "client-skew", Severity: severity, Value: &value, Limit: &limit, Unit: measure.UnitTime,
		Text: fmt.Sprintf("the clients began up to %v apart. The seconds of one are not those of another. Use fewer clients or more "+
			"cores.", skew.Round(time.Millisecond))}
}

// spread is the time between the first and the last start of a client.
func (t *coordinator) spread() time.Duration {
	if t.started.IsZero() || len(t.members) == 0 {
		return 0
	}
	first, last := t.members[0].skew, t.members[0].skew
	for _, m := range t.members {
		first, last = min(first, m.skew), max(last, m.skew)
	}
	return last - first
}
