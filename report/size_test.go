package report

import (
	"io"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

func TestSizeGolden(t *testing.T) {
	golden(t, "size.md", func(w io.Writer, _ *record.Run) error { return Write(w, recordtest.Sizing(), "md") }, nil)
}

func TestMoney(t *testing.T) {
	for x, want := range map[float64]string{1260: "1,260 EUR", 412.5: "412.50 EUR", 0.129: "0.13 EUR", 12.999: "13 EUR", 0: "0 EUR"} {
		if got := money(x, "EUR"); got != want {
			t.Errorf("%v is written %s, want %s", x, got, want)
		}
	}
}

func TestSizeTitles(t *testing.T) {
	s := recordtest.Sizing()
	for want, change := range map[string]func(){
		"ops=50000,p99<20ms: 1,050 nodes of type small (350 shards of 3 copies), 64.0 GiB of memory, 2.00 TiB of disk each, 620 EUR per month": func() {},
		"ops=50000,p99<20ms: at most 1,051 nodes (350 shards of 3 copies and 1 spare), memory unknown, 2.00 TiB of disk each; measured with 1/40.0 of the documents of a node": func() {
			a := s.Answer
			a.AtMost, a.Nodes, a.Spare, a.Memory, a.DataFactor, a.Type, a.Price = true, 1051, 1, 0, 40, "", nil
		},
		"ops=50000,p99<20ms: 2 nodes (1 shard of one copy and 1 spare), 64.0 GiB of memory, 2.00 TiB of disk each": func() {
			a := s.Answer
			a.Nodes, a.Shards, a.Copies, a.Spare, a.DataFactor, a.Type, a.Price = 2, 1, 1, 1, 9, "", nil
		},
		"ops=50000,p99<20ms: this cannot be met with what was measured": func() { s.Verdict = record.SizeImpossible },
		"ops=50000,p99<20ms: these records cannot decide":               func() { s.Verdict = record.SizeUnknown },
		"nodes that match another deployment": func() {
			s.Verdict, s.Need, s.Answer = record.SizeAnswered, nil, nil
		},
	} {
		s = recordtest.Sizing()
		change()
		if got := sizeTitle(s); got != want {
			t.Errorf("the title is %q, want %q", got, want)
		}
	}
	s = &record.Sizing{Verdict: record.SizeUnknown, Reasons: []string{"nothing"}}
	if list := Of(s).Sections; len(list) != 1 || strings.Join(list[0].Lines, "") != "nothing" {
		t.Errorf("a size without an answer has the sections %+v", list)
	}
}
