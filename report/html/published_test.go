package html

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html/recordtest"
)

func TestPublishedFiguresAreDrawnAsRatios(t *testing.T) {
	s := recordtest.Study{Workers: []int{128, 160, 192}, Blocks: 3}.Make()
	s.Base.Workload.Name = "b"
	s.Specification.Published = "policy-storage/figure-3"
	f := &s.Specification.Factors[0]
	f.Name = "client threads"
	for i := range s.Configurations {
		c := &s.Configurations[i]
		c.Levels = map[string]string{"client threads": c.Levels["workers"]}
		if c.Factor != "" {
			c.Factor = "client threads"
		}
	}
	var drawn, section bool
	for _, sec := range studySections(&Source{Study: s}, report.Of(s), "") {
		if sec.ID != report.GroupPublished {
			continue
		}
		section = true
		for _, b := range sec.Blocks {
			if b.Figure != nil {
				drawn = strings.Contains(string(b.Figure.SVG), `class="pub"`) &&
					strings.Contains(string(b.Figure.SVG), "| +20.2 %") && !strings.Contains(string(b.Figure.SVG), "143,696")
			}
		}
	}
	if !section || !drawn {
		t.Errorf("section %v, drawn as ratios %v", section, drawn)
	}
	s.Specification.Published = "nothing"
	for _, sec := range studySections(&Source{Study: s}, report.Of(s), "") {
		if sec.ID == report.GroupPublished && (len(sec.Blocks) != 1 || sec.Blocks[0].Figure != nil ||
			len(sec.Blocks[0].Points) != 1) {
			t.Errorf("the document does not exist, but the page has %+v", sec)
		}
	}
}
