package drill

import (
	"context"
	"sync"

	"github.com/plimsoll-bench/plimsoll/record"
)

// primaries records how primaries change during a round, as the lab and a client see it.
type primaries struct {
	changed bool            // another member is a primary than before the load
	sets    map[string]bool // in which that is so, as far as the lab tells
	// restarted are the primaries before the load that the lab restarted, by set.
	restarted map[string]string
	gone      []record.LabEvent // when the primary was gone from the client's view
	sees      seen
}

// changedIn notes that another member became the primary of a set.
func (p *primaries) changedIn(set string) {
	p.changed = true
	if p.sets == nil {
		p.sets = map[string]bool{}
	}
	p.sets[set] = true
}

// noteRestart notes that the lab restarted a member, if it was a primary before the load.
func (p *primaries) noteRestart(member string, before record.Lab) {
	for set, name := range primariesOf(before) {
		if name == member {
			if p.restarted == nil {
				p.restarted = map[string]string{}
			}
			p.restarted[set] = name
		}
	}
}

// compare notes the sets that have another primary now.
func (p *primaries) compare(before, now record.Lab) {
	was := primariesOf(before)
	for set, name := range primariesOf(now) {
		if was[set] != "" && was[set] != name {
			p.changedIn(set)
		}
	}
}

// primariesOf returns the primaries of a lab by set. If two members of a set accept writes, the one with the later term
// is the primary.
func primariesOf(l record.Lab) map[string]string {
	by, terms := map[string]string{}, map[string]int64{}
	for _, m := range l.Members {
		if m.Role == "primary" && (by[m.Set] == "" || m.Term > terms[m.Set]) {
			by[m.Set], terms[m.Set] = m.Name, m.Term
		}
	}
	return by
}

// unchanged returns those of some sets in which no other primary was seen, although the lab did not restart the old
// one. The client's view, which does not name the set, counts in a lab with one set only.
func (p *primaries) unchanged(sets []string, before record.Lab) (list []string) {
	for _, set := range sets {
		if p.restarted[set] == "" && !p.sets[set] && !(p.changed && len(setsOf(before)) == 1) {
			list = append(list, set)
		}
	}
	return list
}

// watch follows the primary in a client's view until stop is called.
func (p *primaries) watch(ctx context.Context, uri, database string, e *events) (stop func()) {
	if uri == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	v := &view{uri: uri, database: database, tell: e.add}
	var group sync.WaitGroup
	group.Go(func() { v.follow(ctx) })
	return func() {
		cancel()
		group.Wait()
		v.mu.Lock()
		defer v.mu.Unlock()
		p.gone, p.sees = v.gone, v.sees
		p.changed = p.changed || v.moved
	}
}

// moments returns, for each fault, the first time that the primary was gone from the client's view. They are left out
// if no fault took a primary away and none changed: behind a slow or failing disk, a failed query says nothing about
// the primary.
func (p *primaries) moments(faults []record.DrillFault, tookPrimary bool, c runClock) []record.LabEvent {
	if !p.changed && !tookPrimary {
		return nil
	}
	var list []record.LabEvent
	known := map[int]bool{}
	for _, e := range p.gone {
		at := c.at(e.Time)
		if !anyInjected(faults) || at < faults[0].Injected {
			continue
		}
		if fault := lastBefore(faults, at); !known[fault] {
			known[fault] = true
			list = append(list, e)
		}
	}
	return list
}
