package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// DrillMode are the rounds of a drill in which clients noticed the same of what was broken.
type DrillMode struct {
	// Mode is that of the faults, as in [DrillFault]; several in one round are joined by "+". Empty if nothing was
	// broken.
	Mode string `json:"mode"`
	// Rounds is how many there were, Unended in how many of them no operation succeeded again before the load was over,
	// and Lossy how many lost acknowledged writes.
	Rounds  int `json:"rounds"`
	Unended int `json:"unended"`
	Lossy   int `json:"lossy"`
	// Outages are those that ended, Losses those of rounds that show something about losses: something was acknowledged,
	// everything was read back, and the verdict is known, or writes were lost all the same.
	Outages *Spread `json:"outages,omitempty"`
	Losses  *Spread `json:"losses,omitempty"`
	// Statement is what so many rounds allow to say.
	Statement string `json:"statement,omitempty"`
}

// Mode is what clients noticed of the faults of the round; see [DrillMode].
func (r *DrillRound) Mode() string {
	var list []string
	for _, m := range fault.Modes() {
		if slices.ContainsFunc(r.Faults, func(f DrillFault) bool { return f.Injected > 0 && f.Mode == m }) {
			list = append(list, m)
		}
	}
	return strings.Join(list, "+")
}

// Whole is what the faults meant for all operations of all clients, nil if that is not known.
func (r *DrillRound) Whole() *DrillEffect {
	for i := range r.Effects {
		if e := &r.Effects[i]; e.all() && e.Shard == "" {
			return e
		}
	}
	return nil
}

// all says whether an effect is that of all operations, wherever they were, of all clients.
func (e *DrillEffect) all() bool { return e.Class == "" && e.Kind == "" && e.Client == -1 }

// Headline is the effect of the faults on operations: [DrillRound.Whole] or, of a sharded cluster, that of the struck
// shard with the longest outage. Operations on other shards continue, so all together are hardly ever out.
func (r *DrillRound) Headline() *DrillEffect {
	var longest *DrillEffect
	for i := range r.Effects {
		e := &r.Effects[i]
		struck := slices.ContainsFunc(r.Shards, func(s DrillShard) bool { return s.Struck && s.Name == e.Shard })
		if !e.all() || !struck || e.OutageFrom < 0 {
			continue
		}
		if longest == nil || longest.Outage >= 0 && (e.Outage < 0 || e.Outage > longest.Outage) {
			longest = e
		}
	}
	if longest == nil {
		return r.Whole()
	}
	return longest
}

// Of is the effect on all operations of a kind on a shard, "" being all kinds and all shards; nil if that is not known.
func (r *DrillRound) Of(kind, shard string) *DrillEffect {
	for i := range r.Effects {
		if e := &r.Effects[i]; e.Class == "" && e.Client == -1 && e.Kind == kind && e.Shard == shard {
			return e
		}
	}
	return nil
}

// mostLikely is the number of successes at the rate before the fault from which a time without one is an outage. In
// operations that come at random, a shorter gap is chance.
const mostLikely = 10

// KindOutage is the longest time without a success of a kind of operations on a shard. If it did not end, it is the
// time until the end of the load. It is 0 if it is not known, or so short for the rate that it can be chance.
func (r *DrillRound) KindOutage(kind, shard string) (length int64, ended bool) {
	e := r.Of(kind, shard)
	if e == nil || e.OutageFrom < 0 {
		return 0, false
	}
	length, ended = e.Outage, e.Outage >= 0
	if !ended {
		length = r.WindowEnd - e.OutageFrom
	}
	if float64(length)/1e9*e.Before < mostLikely {
		return 0, false
	}
	return length, ended
}

// Blind says whether most of an outage is the timeout of operations on connections that hung: then it says more about
// the timeout than about the server.
func (e *DrillEffect) Blind() bool { return e.Hung > e.Outage/2 }

// LostWrites is how many acknowledged writes are gone.
func (l *LedgerResult) LostWrites() int64 { return l.Inserts[WriteLost] + l.Updates[WriteLost] }

// LossAllowed reports whether the expectation of the round allows what it lost.
func (r *DrillRound) LossAllowed() bool {
	x, l := r.Expect, r.Ledger
	return x.Loss == spec.LossAny || x.Loss == spec.LossWindow && l != nil && l.LostAfter == 0 &&
		l.LossLeast <= int64(x.LossWindow)
}

// LostText is how many acknowledged writes are gone, in words.
func (l *LedgerResult) LostText() string {
	text := figure.Plural(int(l.LostWrites()), "acknowledged write")
	if l.LostAtLeast {
		return "at least " + text
	}
	return text
}

// Coverage is the share of the writes that were sent and are checked; 1 without any.
func (l *LedgerResult) Coverage() float64 {
	if n := l.UncheckedWrites(); n > 0 {
		return float64(l.Attempted) / float64(l.Attempted+n)
	}
	return 1
}

// fullCoverage is the coverage from which it is not worth a word beside the verdict.
const fullCoverage = 0.99

// CoverageText says which part of the writes was checked, and why not more; "" if nearly all were.
func (l *LedgerResult) CoverageText() string {
	if l.Coverage() >= fullCoverage {
		return ""
	}
	reasons := slices.SortedFunc(maps.Keys(l.Unchecked), func(a, b string) int {
		return cmp.Or(cmp.Compare(l.Unchecked[b], l.Unchecked[a]), strings.Compare(a, b))
	})
	for i, reason := range reasons {
		reasons[i] = figure.Count(l.Unchecked[reason]) + " " + reason
	}
	return fmt.Sprintf("only %s of %s were checked (%s), without %s", figure.Count(l.Attempted),
		figure.Plural(int(l.Attempted+l.UncheckedWrites()), "write"), figure.Percent(l.Coverage()), strings.Join(reasons, ", "))
}

// UncheckedWrites is how many writes were sent that cannot be checked.
func (l *LedgerResult) UncheckedWrites() (n int64) {
	for _, of := range l.Unchecked {
		n += of
	}
	return n
}

// FinalSource is the source of the final read, in [LedgerRead].
const FinalSource = "final"

// ReadBack says whether the final read covered all writes.
func (l *LedgerResult) ReadBack() bool {
	final := slices.IndexFunc(l.Reads, func(r LedgerRead) bool { return r.Source == FinalSource })
	return final >= 0 && l.Reads[final].Problem == "" && l.Inserts[WriteNeverRead]+l.Updates[WriteNeverRead] == 0
}

// showsLosses says whether the round is one of those whose losses count. Where nothing was acknowledged nothing could
// be lost; and where the fault did not hit, or the verdict is unknown for another reason, that nothing was lost says
// nothing about faults like it.
func (r *DrillRound) showsLosses() bool {
	l := r.Ledger
	return l != nil && l.ReadBack() && l.Acknowledged > 0 && (r.Verdict != Unknown || l.LostWrites() > 0)
}

// ByMode groups rounds in which clients noticed the same: a broken connection is noticed at once, a hanging one only
// after a timeout, so their outages are not compared. Incomplete rounds are left out, and rounds without a fault if
// others have one.
func (d *Drill) ByMode() []DrillMode {
	list := []DrillMode{}
	var outages, losses [][]float64
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if r.Status == Running {
			continue
		}
		name := r.Mode()
		at := slices.IndexFunc(list, func(m DrillMode) bool { return m.Mode == name })
		if at < 0 {
			at = len(list)
			list, outages, losses = append(list, DrillMode{Mode: name}), append(outages, nil), append(losses, nil)
		}
		m := &list[at]
		m.Rounds++
		if e := r.Headline(); e != nil && e.Outage >= 0 {
			outages[at] = append(outages[at], float64(e.Outage))
		} else if e != nil && e.OutageFrom >= 0 {
			m.Unended++
		}
		if r.showsLosses() {
			losses[at] = append(losses[at], float64(r.Ledger.LostWrites()))
			if r.Ledger.LostWrites() > 0 {
				m.Lossy++
			}
		}
	}
	for i := range list {
		list[i].Outages, list[i].Losses = SpreadOf("ns", outages[i]), SpreadOf("writes", losses[i])
	}
	if len(list) > 1 {
		list = slices.DeleteFunc(list, func(m DrillMode) bool { return m.Mode == "" })
	}
	return list
}

// SpreadOf keeps all values, with their median and greatest; nil if there are none.
func SpreadOf(unit string, values []float64) *Spread {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return &Spread{Unit: unit, Values: values, Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Max: sorted[n-1]}
}

// Struck reports whether the faults hit in every round, as far as known.
func (d *Drill) Struck() bool {
	for i := range d.Rounds {
		for _, f := range d.Rounds[i].Faults {
			if !f.Hit {
				return false
			}
		}
	}
	return true
}
