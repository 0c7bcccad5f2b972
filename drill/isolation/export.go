package isolation

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Format is a format of histories that another checker reads.
type Format string

// The formats: operations of Jepsen as EDN and as lines of JSON for elle-cli, both with lists that transactions append
// to, and the operations of Plume, which knows single values.
const (
	EDN   Format = "edn"
	JSON  Format = "json"
	Plume Format = "plume"
)

// Formats are all formats.
var Formats = []Format{EDN, JSON, Plume}

// Export writes a history for another checker. A version becomes the list of all versions of its key up to it, which is
// what list-append of Elle needs; versions that nobody saw are missing in these lists. Times are nanoseconds.
func (h *History) Export(out io.Writer, format Format) error {
	w := bufio.NewWriter(out)
	if format == Plume {
		h.plume(w)
		return w.Flush()
	}
	if format != EDN && format != JSON {
		return fmt.Errorf("unknown format %q of histories; known are %q", format, Formats)
	}
	e := &exporter{h: h, edn: format == EDN, lists: h.lists()}
	for i, ev := range h.events() {
		if err := e.line(w, i, ev); err != nil {
			return fmt.Errorf("write a history as %s: %w", format, err)
		}
	}
	return w.Flush()
}

// operation is an invocation or a completion, as Jepsen writes it.
type operation struct {
	Index   int     `json:"index"`
	Type    string  `json:"type"`
	Process int64   `json:"process"`
	Time    int64   `json:"time"`
	F       string  `json:"f"`
	Value   [][]any `json:"value"`
}

type event struct {
	at      int64
	end     bool
	t       int
	process int64
}

// events are the beginnings and ends of transactions in the order of time. A process that got no answer is never used
// again, so its session goes on as another one.
func (h *History) events() []event {
	sessions := int64(0)
	last := int64(0)
	for i := range h.Transactions {
		sessions = max(sessions, int64(h.Transactions[i].Session)+1)
		last = max(last, h.Transactions[i].Began, h.Transactions[i].Ended)
	}
	order := make([]int, len(h.Transactions))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(h.Transactions[a].Began, h.Transactions[b].Began), cmp.Compare(a, b))
	})
	process := map[int32]int64{}
	var list []event
	for _, t := range order {
		one := &h.Transactions[t]
		p, ok := process[one.Session]
		if !ok {
			p = int64(one.Session)
		}
		list = append(list, event{at: one.Began, t: t, process: p})
		ended := one.Ended
		if one.Outcome == Unknown {
			p += sessions
			ended = cmp.Or(ended, last)
		}
		process[one.Session] = p
		list = append(list, event{at: ended, end: true, t: t, process: list[len(list)-1].process})
	}
	slices.SortStableFunc(list, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return list
}

// lists are the IDs of the known versions of each key, in their order.
func (h *History) lists() map[uint32][]ID {
	c := &check{h: h, promise: Nothing}
	c.index()
	c.decideUnknown()
	c.observe()
	c.order()
	lists := make(map[uint32][]ID, len(c.chains))
	for key, in := range c.chains {
		for _, v := range in.versions {
			if v.id != 0 {
				lists[key] = append(lists[key], v.id)
			}
		}
	}
	return lists
}

type exporter struct {
	h     *History
	edn   bool
	lists map[uint32][]ID
}

// upTo is what a transaction that saw a version read as a list.
func (e *exporter) upTo(key uint32, id ID) []ID {
	if id == 0 {
		return []ID{}
	}
	list := e.lists[key]
	if i := slices.Index(list, id); i >= 0 {
		return list[:i+1]
	}
	return []ID{id} // of an aborted transaction, or garbage
}

func (e *exporter) line(w io.Writer, index int, ev event) error {
	one := &e.h.Transactions[ev.t]
	op := operation{Index: index, Type: "invoke", Process: ev.process, Time: ev.at, F: "txn", Value: [][]any{}}
	if ev.end {
		op.Type = map[Outcome]string{Committed: "ok", Aborted: "fail", Unknown: "info"}[one.Outcome]
	}
	answered := op.Type == "ok"
	for _, o := range one.Ops {
		if o.Write {
			if !o.Blind {
				op.Value = append(op.Value, e.read(o.Key, o.Prev, answered))
			}
			op.Value = append(op.Value, []any{"append", o.Key, o.ID})
			continue
		}
		op.Value = append(op.Value, e.read(o.Key, o.ID, answered))
	}
	if !e.edn {
		return json.NewEncoder(w).Encode(op)
	}
	var value strings.Builder
	for i, micro := range op.Value {
		if i > 0 {
			value.WriteByte(' ')
		}
		fmt.Fprintf(&value, "[:%s %d %s]", micro[0], micro[1], edn(micro[2]))
	}
	_, err := fmt.Fprintf(w, "{:index %d :type :%s :process %d :time %d :f :txn :value [%s]}\n", op.Index, op.Type, op.Process, op.Time, &value)
	return err
}

// read is a read of a list, nil where no answer is known.
func (e *exporter) read(key uint32, id ID, answered bool) []any {
	if !answered {
		return []any{"r", key, nil}
	}
	return []any{"r", key, e.upTo(key, id)}
}

func edn(value any) string {
	if value == nil {
		return "nil"
	}
	return strings.ReplaceAll(fmt.Sprint(value), ",", "")
}

// plume writes one line for each operation. Aborted writes are of transaction −1; those without an answer are left out
// unless somebody saw them.
func (h *History) plume(w io.Writer) {
	c := &check{h: h, promise: Nothing}
	c.index()
	c.decideUnknown()
	for t := range h.Transactions {
		one := &h.Transactions[t]
		number := t
		switch {
		case one.Outcome == Aborted:
			number = -1
		case !c.live[t]:
			continue
		}
		for _, o := range one.Ops {
			saw := one.Outcome == Committed
			switch {
			case o.Write && !o.Blind && saw:
				fmt.Fprintf(w, "r(%d,%d,%d,%d)\nw(%d,%d,%d,%d)\n", o.Key, o.Prev, one.Session, number, o.Key, o.ID, one.Session, number)
			case o.Write:
				fmt.Fprintf(w, "w(%d,%d,%d,%d)\n", o.Key, o.ID, one.Session, number)
			case saw:
				fmt.Fprintf(w, "r(%d,%d,%d,%d)\n", o.Key, o.ID, one.Session, number)
			}
		}
	}
}

// Begin returns the first n transactions of a history. Those that ended later have no answer in it, so it is a history
// by itself, which another checker judges as this one does.
func (h *History) Begin(n int) History {
	if len(h.Transactions) <= n {
		return *h
	}
	all := slices.Clone(h.Transactions)
	slices.SortStableFunc(all, func(a, b Transaction) int { return cmp.Compare(a.Began, b.Began) })
	until := all[n].Began
	all = slices.Clone(all[:n])
	for i := range all {
		if all[i].Outcome != Aborted && all[i].Ended >= until {
			all[i].Outcome, all[i].Ended = Unknown, 0
		}
	}
	return History{Transactions: all, Servers: h.Servers}
}
