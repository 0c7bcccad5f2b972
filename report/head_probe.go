package report

import (
	"fmt"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// probeAnswer says whether storage keeps what it confirms, and what a journaled commit costs there.
func probeAnswer(p *record.Probe) string {
	text := probeVerdict(p)
	switch {
	case p.Verdict == record.Lying:
		return "LYING disk" + strings.TrimPrefix(text, string(p.Verdict)) + ": it confirms flushes that do not reach it"
	case p.Status == record.Failed:
		text = "not measured to the end"
	case p.Storage.Filesystem == "" && p.Storage.Bytes == 0:
		return "nothing was measured"
	}
	if j := p.Journal; j != nil && j.Flush != nil {
		text += fmt.Sprintf("; j:true takes %s, %s commits/s", ns64(j.One), figure.Rate(j.Ceiling))
	}
	return text
}

// size is a number of bytes, "" if it is not known.
func size(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return figure.Bytes(bytes)
}

// probeSummary has a row for each use of storage: the journal, random access, checkpoints and sustained writes.
func probeSummary(p *record.Probe) *Table {
	t := &Table{Header: []string{"use", "rate", "p50", "p99", "with"}, Last: 1}
	if j := p.Journal; j != nil && j.Flush != nil {
		l := probeLatency(j.Flush)
		t.row("journal (flushes)", figure.Rate(j.Ceiling)+" commits/s", l[0], l[1], figure.Plural(j.Clients, "client"))
	}
	for _, operation := range []string{"read", "write"} {
		if s := fastest(p, operation); s != nil {
			l := probeLatency(s.Latency)
			t.row(join(" of ", "random "+operation+"s", size(s.Block)), figure.Rate(s.Rate)+"/s", l[0], l[1], figure.Plural(s.Threads, "thread"))
		}
	}
	if c := p.Checkpoint; c != nil && c.Checkpoints > 0 {
		l := probeLatency(c.Inside)
		t.row("commits during checkpoints", figure.Significant(c.Reached/1e6)+" MB/s", l[0], l[1], figure.Plural(c.Checkpoints, "checkpoint"))
	}
	if s := p.Sustained; s != nil {
		t.row("sustained writes", figure.Significant(s.Ceiling/1e6)+" MB/s", "–", "–", spec.ProbeSustained)
	}
	return t
}
