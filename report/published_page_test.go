package report

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/report/recordtest"
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
	for _, sec := range studyDocument(s, &studyFiles{Source: &Source{}, Study: s}).Sections {
		if sec.Group != GroupPublished {
			continue
		}
		section = true
		for _, f := range sec.Figures {
			drawn = strings.Contains(svg(f), `class="pub"`) && strings.Contains(svg(f), "| +20.2 %") &&
				!strings.Contains(svg(f), "143,696")
		}
	}
	if !section || !drawn {
		t.Errorf("section %v, drawn as ratios %v", section, drawn)
	}
	s.Specification.Published = "nothing"
	for _, sec := range studyDocument(s, &studyFiles{Source: &Source{}, Study: s}).Sections {
		if sec.Group == GroupPublished && (sec.Figures != nil || len(sec.Points) != 1) {
			t.Errorf("the document does not exist, but the page has %+v", sec)
		}
	}
}
