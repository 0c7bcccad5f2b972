package judge

import (
	"math"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// A statement agrees only if the whole interval is within the margin of it, and a margin keeps the direction.
func TestAgreement(t *testing.T) {
	unbound := span{1, 1} // set to the statement
	for name, c := range map[string]struct {
		stated    float64
		means     span
		low, high float64
		once      bool
		verdict   record.Verdict
		want      record.Agreement
	}{
		"near":                              {1.2, unbound, 1.15, 1.23, false, record.Better, record.Agrees},
		"near, and excludes it":             {8.7, unbound, 7.6, 8.2, false, record.Better, record.Agrees},
		"wide":                              {8.7, unbound, 4.1, 18, false, record.Better, record.Compatible},
		"wide, direction unknown":           {1.2, unbound, 0.9, 1.6, false, record.Inconclusive, record.Compatible},
		"narrow, but not interleaved":       {1.2, unbound, 1.18, 1.22, false, record.Inconclusive, record.Compatible},
		"measured once":                     {1.4, unbound, 1.27, 1.54, true, record.Better, record.Compatible},
		"+42 % there, +311 % here":          {1.42, unbound, 3.9, 4.3, false, record.Better, record.SameDirection},
		"half as much":                      {2, unbound, 1.45, 1.55, false, record.Better, record.SameDirection},
		"the opposite within a fifth":       {1.05, unbound, 0.92, 0.96, false, record.Worse, record.Disagrees},
		"nothing here, within a fifth":      {1.06, unbound, 0.99, 1.01, false, record.Equivalent, record.Disagrees},
		"nothing there and here":            {1.01, unbound, 0.99, 1.02, false, record.Equivalent, record.Agrees},
		"nothing there":                     {1.01, unbound, 1.3, 1.4, false, record.Better, record.Disagrees},
		"excluded, direction unknown":       {2, unbound, 0.9, 1.2, false, record.Inconclusive, record.Undecided},
		"above the bound":                   {1.75, span{1.7, math.Inf(1)}, 1.9, 4, false, record.Better, record.Agrees},
		"around the bound":                  {1.75, span{1.7, math.Inf(1)}, 1.5, 4, false, record.Better, record.Compatible},
		"below the bound":                   {1.75, span{1.7, math.Inf(1)}, 1.3, 1.5, false, record.Better, record.SameDirection},
		"a bound from above, and far below": {0.5, span{0, 0.5}, 0.01, 0.02, false, record.Worse, record.Agrees},
	} {
		if c.means == unbound {
			c.means = span{c.stated, c.stated}
		}
		st := record.SuiteStatement{Published: &c.stated}
		m := measurement{ratio: math.Sqrt(c.low * c.high), low: c.low, high: c.high, once: c.once, verdict: c.verdict}
		judgeRatio(&st, c.means, &m, reason{}, 0.03)
		if st.Agreement != c.want || st.Why == "" || (st.Margin == nil) != c.means.bounded() {
			t.Errorf("%s: %s (%s), margin %v, want %s", name, st.Agreement, st.Why, st.Margin, c.want)
		}
	}
}
