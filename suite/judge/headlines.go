package judge

import (
	"cmp"
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/record"
)

// headlines returns the indices of the most important statements: for each measured figure the strongest ones, and one
// for each failure. If the document derives figures from others, such as a number of servers from throughputs, the
// derived ones are the headlines, because the document is about them.
func headlines(list []exhibit) (places []int) {
	follows := slices.ContainsFunc(list, func(f exhibit) bool { return f.sweep != nil && Derived(f.sweep) })
	for i := range list {
		f := &list[i]
		switch {
		case f.sweep == nil, follows && f.sweep.Workload != "":
		case Derived(f.sweep):
			for k := range f.statements {
				if f.statements[k].Found != "" {
					places = append(places, f.first+k)
				}
			}
		default:
			for _, k := range f.strongest() {
				places = append(places, f.first+k)
			}
		}
	}
	return places
}

// fewLevels is the number of levels of a figure that may all be headlines.
const fewLevels = 2

// strongest returns the most important statements of a figure: those about failures, if there are any. Otherwise those
// of the first metric if they are few, or else the one with the largest difference in the document, and all that
// disagree. Statements with a verdict come before those without.
func (f *exhibit) strongest() []int {
	var words, first, against []int
	best := -1
	for i := range f.statements {
		st := &f.statements[i]
		if !st.Counted() || st.Agreement == record.NotMeasured {
			continue
		}
		if st.Kind == record.StatementWords {
			words = append(words, i)
		}
		if st.Kind == record.StatementRatio && st.Metric == f.sweep.Metrics[0] {
			first = append(first, i)
		}
		if st.Agreement == record.Disagrees {
			against = append(against, i)
		}
		if best < 0 || f.stronger(st, &f.statements[best]) {
			best = i
		}
	}
	if len(words) > 0 || best < 0 {
		return words
	}
	list := []int{best}
	if len(first) > 1 && len(first) <= fewLevels {
		list = first
	}
	for _, i := range against {
		if !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}

// stronger reports whether a is more important than b.
func (f *exhibit) stronger(a, b *record.SuiteStatement) bool {
	by := func(is func(*record.SuiteStatement) bool) int {
		rank := map[bool]int{true: 1}
		return rank[is(a)] - rank[is(b)]
	}
	difference := func(st *record.SuiteStatement) float64 {
		if st.Published == nil || *st.Published <= 0 {
			return 0
		}
		return math.Abs(math.Log(*st.Published))
	}
	return cmp.Or(
		by(func(st *record.SuiteStatement) bool { return st.Agreement != record.Undecided }),
		by(func(st *record.SuiteStatement) bool { return st.Metric == f.sweep.Metrics[0] }),
		by(func(st *record.SuiteStatement) bool { return st.Kind == record.StatementRatio }),
		cmp.Compare(difference(a), difference(b)),
	) > 0
}
