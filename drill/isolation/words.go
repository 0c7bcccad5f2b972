package isolation

import (
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Words describe an anomaly for people. Transactions are called A, B, C in the order of the cycle. Times are moved by
// shift.
func (h *History) Words(a Anomaly, shift int64) record.IsolationExample {
	w := record.IsolationExample{Text: h.sentence(&a)}
	for i, t := range a.Transactions {
		w.Transactions = append(w.Transactions, h.transaction(i, t, shift))
	}
	for i, e := range a.Edges {
		w.Edges = append(w.Edges, h.edge(a, i, e))
	}
	return w
}

// Excerpt returns an anomaly with a history of its transactions only.
func (h *History) Excerpt(a Anomaly) (Anomaly, History) {
	only := History{Servers: h.Servers}
	numbers := make([]int, len(a.Transactions))
	for i, t := range a.Transactions {
		numbers[i] = i
		only.Transactions = append(only.Transactions, h.Transactions[t])
	}
	a.Transactions = numbers
	return a, only
}

func label(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("A%d", i)
}

// sentence says what is wrong in one sentence.
func (h *History) sentence(a *Anomaly) string {
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
		if len(a.Transactions) == 0 {
			return fmt.Sprintf("version %d of key %d was present after all of its transactions had ended, and is lost at the end", a.N, a.Key)
		}
		return fmt.Sprintf("A was acknowledged and is lost: its write to key %d is not among all versions of that key", a.Key)
	case Garbage:
		return fmt.Sprintf("%s read %s with the value %d, and no client wrote it", by, where, a.ID)
	case Future:
		return fmt.Sprintf("A read %s and ended before B, which wrote it, began", where)
	case Duplicate:
		if len(a.Transactions) == 0 && a.ID != 0 {
			return fmt.Sprintf("key %d had version %d after all of its transactions had ended, and has a later one at the end", a.Key, a.N)
		}
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
		if h.Transactions[a.Transactions[1]].Outcome != Aborted {
			return fmt.Sprintf("A read %s of B, but B was rolled back: the versions at the end do not follow from it", where)
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
func (h *History) transaction(i, t int, shift int64) record.IsolationTransaction {
	one := &h.Transactions[t]
	w := record.IsolationTransaction{Name: label(i), Session: int(one.Session), Began: one.Began + shift,
		Outcome: outcomes[one.Outcome], Commit: timestamp(one.CommitTime), Snapshot: timestamp(one.ReadTime)}
	if int(one.Server) < len(h.Servers) {
		w.Server = h.Servers[one.Server]
	}
	if one.Ended != 0 {
		w.Ended = one.Ended + shift
	}
	for _, o := range one.Ops {
		verb, version := "read", fmt.Sprintf(" version %d", o.N)
		if o.Write {
			verb = "wrote"
		}
		if o.Write && o.Blind {
			version = ""
		}
		w.Operations = append(w.Operations, fmt.Sprintf("%s key %d%s", verb, o.Key, version))
	}
	return w
}

// outcomes are the words of a record.
var outcomes = [...]string{Unknown: "unknown", Committed: "committed", Aborted: "aborted"}

// timestamp writes a timestamp of a server as seconds and counter.
func timestamp(at uint64) string {
	if at == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d", at>>32, uint32(at))
}

// edge describes why one transaction of a cycle comes before the next one.
func (h *History) edge(a Anomaly, i int, e Edge) record.IsolationEdge {
	next := (i + 1) % len(a.Transactions)
	from, to := label(i), label(next)
	w := record.IsolationEdge{Kind: kindNames[e.Kind], Key: int64(e.Key), Version: e.N}
	switch e.Kind {
	case WW:
		w.Text = fmt.Sprintf("%s replaced a version of key %d that %s wrote, with version %d", to, e.Key, from, e.N)
	case WR:
		w.Text = fmt.Sprintf("%s read version %d of key %d, which %s wrote", to, e.N, e.Key, from)
	case RW:
		w.Text = fmt.Sprintf("%s read a version of key %d that %s replaced with version %d", from, e.Key, to, e.N)
	case RWW:
		w.Text = fmt.Sprintf("%s read a version of key %d that was replaced before %s wrote version %d", from, e.Key, to, e.N)
	case Session:
		w.Key, w.Version = 0, 0
		w.Text = "both are of one session, one after the other"
	default:
		apart := h.Transactions[a.Transactions[next]].Began - h.Transactions[a.Transactions[i]].Ended
		w.Key, w.Version = 0, 0
		w.Text = fmt.Sprintf("%s had ended %s before %s began", from, figure.Duration(time.Duration(apart)), to)
	}
	w.Text = fmt.Sprintf("%s before %s: %s", from, to, w.Text)
	return w
}

// kindNames are the words of a record.
var kindNames = [kinds]string{WW: "ww", WR: "wr", RW: "rw", RWW: "rw", Session: "session", RealTime: "real time"}
