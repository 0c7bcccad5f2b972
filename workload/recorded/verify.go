package recorded

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Check compares what a shape found where it was recorded and where it was replayed.
type Check struct {
	Shape    string
	Recorded Found
	Replayed Found
	Differs  []string // by more than a tenth; empty for none
}

// Found is what the operations of a shape found on average. All but Share are known only if Known is not 0.
type Found struct {
	Known    int64   // operations
	Share    float64 // of all operations
	Docs     float64 // returned, matched, inserted or deleted by an operation
	Empty    float64 // share of the operations without such a document
	Modified float64
	Examined float64
	Plan     string // the most frequent plan summary
}

// tolerance is the largest difference that is not told, as a share.
const tolerance = 0.1

// Verify compares the operations of a database with those of another one that replayed them. smaller says that the
// other one has fewer documents, so that operations find fewer. Change streams are not compared.
func Verify(from *Model, database string, to *Model, replayed string, smaller bool) []Check {
	a, b := from.found(database), to.found(replayed)
	var out []Check
	for shape, one := range a {
		c := Check{Shape: shape, Recorded: one.Found}
		if two, ok := b[shape]; ok {
			c.Replayed = two.Found
			c.compare(one, smaller)
		} else {
			c.Differs = []string{"it was not replayed"}
		}
		out = append(out, c)
	}
	for shape, two := range b {
		if _, ok := a[shape]; !ok {
			out = append(out, Check{Shape: shape, Replayed: two.Found, Differs: []string{"it was not recorded"}})
		}
	}
	slices.SortFunc(out, func(x, y Check) int {
		return cmp.Or(cmp.Compare(max(y.Recorded.Share, y.Replayed.Share), max(x.Recorded.Share, x.Replayed.Share)),
			cmp.Compare(x.Shape, y.Shape))
	})
	return out
}

// foundBy is what a shape found, and how.
type foundBy struct {
	Found
	limited bool // it reads at most so many documents
	counts  bool // its answer is a number
}

// found adds up the shapes of a database that clients write in several ways.
func (m *Model) found(database string) map[string]foundBy {
	sums := map[string]*Results{}
	counts := map[string]int64{}
	all := int64(0)
	out := map[string]foundBy{}
	for _, s := range m.Shapes() {
		if s.Database != database || s.Count == 0 || s.watches() || s.Failed == s.Count {
			continue
		}
		text := s.plain()
		if sums[text] == nil {
			sums[text] = &Results{}
		}
		sums[text].merge(&s.Results)
		counts[text] += s.Count
		all += s.Count
		limit, _ := valueOf(s.Tree, "limit").(int64)
		out[text] = foundBy{limited: limit != 0 || strings.Contains(text, "$limit: "), counts: s.Verb == "count"}
	}
	for text, r := range sums {
		f, n := out[text], float64(max(r.Known, 1))
		f.Found = Found{Known: r.Known, Share: float64(counts[text]) / float64(max(all, 1)), Docs: float64(r.Docs) / n,
			Empty: float64(r.Empty) / n, Modified: float64(r.Modified) / n, Examined: float64(r.Examined) / n, Plan: r.Plan()}
		out[text] = f
	}
	return out
}

func (r *Results) merge(o *Results) {
	r.Known, r.Docs, r.Empty = r.Known+o.Known, r.Docs+o.Docs, r.Empty+o.Empty
	r.Modified, r.Examined = r.Modified+o.Modified, r.Examined+o.Examined
	for plan, n := range o.Plans {
		if r.Plans == nil {
			r.Plans = map[string]int64{}
		}
		r.Plans[plan] += n
	}
}

// watches reports whether a shape opens a change stream.
func (s *Shape) watches() bool {
	stages, _ := valueOf(s.Tree, "pipeline").(bson.A)
	if len(stages) == 0 {
		return false
	}
	first, _ := stages[0].(bson.D)
	return len(first) > 0 && first[0].Key == "$changeStream"
}

// compare notes what differs.
func (c *Check) compare(how foundBy, smaller bool) {
	a, b := &c.Recorded, &c.Replayed
	number := func(what string, x, y float64) {
		apart := math.Abs(x - y)
		if apart > tolerance*max(x, y) && apart > tolerance {
			c.Differs = append(c.Differs, fmt.Sprintf("%s %.3g, recorded %.3g", what, y, x))
		}
	}
	if math.Abs(a.Share-b.Share) > tolerance*max(a.Share, b.Share) && math.Abs(a.Share-b.Share) > 0.005 {
		c.Differs = append(c.Differs, fmt.Sprintf("%.3g %% of the operations, recorded %.3g %%", b.Share*100, a.Share*100))
	}
	if a.Known == 0 || b.Known == 0 {
		return
	}
	if !how.counts {
		if !smaller {
			number("documents of an operation", a.Docs, b.Docs)
			number("modified documents", a.Modified, b.Modified)
		}
		if math.Abs(a.Empty-b.Empty) > tolerance {
			c.Differs = append(c.Differs, fmt.Sprintf("%.3g %% found nothing, recorded %.3g %%", b.Empty*100, a.Empty*100))
		}
	}
	// Where a scan finds the first documents depends on their places in the collection.
	if !smaller && !(strings.Contains(a.Plan, "COLLSCAN") && how.limited) {
		number("documents that the server read", a.Examined, b.Examined)
	}
	if a.Plan != b.Plan {
		c.Differs = append(c.Differs, fmt.Sprintf("plan %s, recorded %s", cmp.Or(b.Plan, "none"), cmp.Or(a.Plan, "none")))
	}
}
