package isolation

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// Text describes an anomaly for people: a sentence, then a line for each transaction, then one for each dependency.
// Transactions are called A, B, C in the order of the cycle. Times are relative to zero, in the clock of the history.
func (h *History) Text(a Anomaly, zero int64) []string {
	lines := []string{a.sentence()}
	for i, t := range a.Transactions {
		lines = append(lines, label(i)+": "+h.transaction(t, zero))
	}
	for i, e := range a.Edges {
		lines = append(lines, h.edge(a, i, e))
	}
	return lines
}

func label(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("A%d", i)
}

// sentence says what is wrong in one sentence.
func (a *Anomaly) sentence() string {
	where := fmt.Sprintf("key %d", a.Key)
	if a.N != Unplaced {
		where = fmt.Sprintf("version %d of key %d", a.N, a.Key)
	}
	by := "the final read"
	if len(a.Transactions) > 0 {
		by = "A"
	}
	switch a.Class {
	case Torn:
		return fmt.Sprintf("A was applied in part: its write to key %d is missing, and another one is present", a.Key)
	case Lost:
		return fmt.Sprintf("A was acknowledged and is lost: its write to key %d is not among all versions of that key", a.Key)
	case Garbage:
		return fmt.Sprintf("%s read %s with the value %d, and no client wrote it", by, where, a.ID)
	case Future:
		return fmt.Sprintf("A read %s and ended before B, which wrote it, began", where)
	case Duplicate:
		return fmt.Sprintf("the write %d to key %d was seen at version %d and at another one", a.ID, a.Key, a.N)
	case Conflict:
		return fmt.Sprintf("two writes were seen as %s", where)
	case LostUpdate:
		return fmt.Sprintf("A and B replaced the same version of key %d: each wrote version %d", a.Key, a.N)
	case Internal:
		return fmt.Sprintf("A wrote key %d, and then found version %d of another transaction", a.Key, a.N)
	case NonRepeatable:
		return fmt.Sprintf("A read key %d twice, and the second time it was version %d", a.Key, a.N)
	case DirtyRead:
		if len(a.Transactions) == 1 {
			return fmt.Sprintf("the final read found %s of A, but A was aborted", where)
		}
		return fmt.Sprintf("A read %s of B, but B was aborted", where)
	case Intermediate:
		if len(a.Transactions) == 1 {
			return fmt.Sprintf("the final read found %s, which A itself replaced", where)
		}
		return fmt.Sprintf("A read %s, which B itself replaced", where)
	case ServerOrder:
		return fmt.Sprintf("the server's times of A and B contradict %s", where)
	case Stale:
		return fmt.Sprintf("A read an older version of key %d than version %d of B, which A or what it had read depends on", a.Key, a.N)
	}
	return fmt.Sprintf("%s of %s", a.Class, figure.Plural(len(a.Transactions), "transaction"))
}

// transaction describes one: who, where, when, what.
func (h *History) transaction(t int, zero int64) string {
	one := &h.Transactions[t]
	var b strings.Builder
	fmt.Fprintf(&b, "session %d", one.Session)
	if int(one.Server) < len(h.Servers) && h.Servers[one.Server] != "" {
		fmt.Fprintf(&b, " on %s", h.Servers[one.Server])
	}
	fmt.Fprintf(&b, ", began %.6f s", float64(one.Began-zero)/1e9)
	if one.Ended > 0 {
		fmt.Fprintf(&b, ", ended %.6f s", float64(one.Ended-zero)/1e9)
	}
	b.WriteString(map[Outcome]string{Unknown: ", no answer to the commit", Aborted: ", aborted"}[one.Outcome])
	for i, o := range one.Ops {
		b.WriteString(map[bool]string{true: ": ", false: "; "}[i == 0])
		switch {
		case !o.Write:
			fmt.Fprintf(&b, "read key %d version %d", o.Key, o.N)
		case o.Blind:
			fmt.Fprintf(&b, "wrote key %d", o.Key)
		default:
			fmt.Fprintf(&b, "wrote key %d version %d", o.Key, o.N)
		}
	}
	return b.String()
}

// edge describes why one transaction of a cycle comes before the next one.
func (h *History) edge(a Anomaly, i int, e Edge) string {
	next := (i + 1) % len(a.Transactions)
	from, to := label(i), label(next)
	switch e.Kind {
	case WW:
		return fmt.Sprintf("%s before %s: %s replaced a version of key %d that %s wrote, with version %d", from, to, to, e.Key, from, e.N)
	case WR:
		return fmt.Sprintf("%s before %s: %s read version %d of key %d, which %s wrote", from, to, to, e.N, e.Key, from)
	case RW:
		return fmt.Sprintf("%s before %s: %s read a version of key %d that %s replaced with version %d", from, to, from, e.Key, to, e.N)
	case RWW:
		return fmt.Sprintf("%s before %s: %s read a version of key %d that was replaced before %s wrote version %d", from, to, from, e.Key, to, e.N)
	case Session:
		return fmt.Sprintf("%s before %s: both are of one session, one after the other", from, to)
	}
	apart := h.Transactions[a.Transactions[next]].Began - h.Transactions[a.Transactions[i]].Ended
	return fmt.Sprintf("%s before %s: %s had ended %s before %s began", from, to, from, figure.Duration(time.Duration(apart)), to)
}
