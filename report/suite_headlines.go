package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
)

// SuiteHeadline is what is read first of a figure: what the document says most strongly about it, and what was found here.
type SuiteHeadline struct {
	// What names the figure and its level, There what the document has, Here what was measured, with its interval.
	What, There, Here string
	Agreement         record.Agreement
}

// Headlines are the answers to “what did the document say, and what is it here”: one for each figure of which something was
// measured, and one for each failure. Where figures follow from others, such as a number of servers from throughputs, these are
// the answers, since they are what the document is about.
func (s *Suite) Headlines() []SuiteHeadline {
	follows := slices.ContainsFunc(s.Figures, func(f SuiteFigure) bool { return f.Sweep != nil && derived(f.Sweep) })
	var list []SuiteHeadline
	for i := range s.Figures {
		f := &s.Figures[i]
		switch {
		case f.Sweep == nil, follows && f.Sweep.Workload != "":
		case derived(f.Sweep):
			for k := range f.Statements {
				if st := &f.Statements[k]; st.Found != "" {
					list = append(list, f.headline(st))
				}
			}
		default:
			for _, st := range f.strongest() {
				list = append(list, f.headline(st))
			}
		}
	}
	return list
}

// fewLevels is how many levels of a figure may all be among what is read first.
const fewLevels = 2

// strongest are the statements of a figure that say most: of each failure its own, and else those of its first metric if they are
// few, or the one with the largest difference in the document; and whatever disagrees. What was measured without a verdict stands
// back behind what has one.
func (f *SuiteFigure) strongest() []*record.SuiteStatement {
	var words, first, against []*record.SuiteStatement
	var best *record.SuiteStatement
	for i := range f.Statements {
		st := &f.Statements[i]
		if !st.Counted() || st.Agreement == record.NotMeasured {
			continue
		}
		if st.Kind == record.StatementWords {
			words = append(words, st)
		}
		if st.Kind == record.StatementRatio && st.Metric == f.Sweep.Metrics[0] {
			first = append(first, st)
		}
		if st.Agreement == record.Disagrees {
			against = append(against, st)
		}
		if best == nil || f.stronger(st, best) {
			best = st
		}
	}
	if len(words) > 0 || best == nil {
		return words
	}
	list := []*record.SuiteStatement{best}
	if len(first) > 1 && len(first) <= fewLevels {
		list = first
	}
	for _, st := range against {
		if !slices.Contains(list, st) {
			list = append(list, st)
		}
	}
	return list
}

// stronger says whether a statement says more than another one.
func (f *SuiteFigure) stronger(a, b *record.SuiteStatement) bool {
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
		by(func(st *record.SuiteStatement) bool { return st.Agreement != record.NotTold }),
		by(func(st *record.SuiteStatement) bool { return st.Metric == f.Sweep.Metrics[0] }),
		by(func(st *record.SuiteStatement) bool { return st.Kind == record.StatementRatio }),
		cmp.Compare(difference(a), difference(b)),
	) > 0
}

// headline puts a statement into words.
func (f *SuiteFigure) headline(st *record.SuiteStatement) SuiteHeadline {
	change, interval, _ := changeCells(st)
	between := " "
	if st.Kind == record.StatementWords {
		between = ": "
	}
	h := SuiteHeadline{What: f.Title() + between + st.Level, There: cmp.Or(statedCell(st), "-"), Here: change, Agreement: st.Agreement}
	if interval != "-" {
		h.Here += " " + interval
	}
	if !derived(f.Sweep) && st.Kind != record.StatementWords {
		h.What += ", " + metricCell(st)
	}
	if st.Agreement == record.NotStated {
		h.There = "-"
	}
	return h
}

// WhyNotMeasured tells in a few words why statements of the document were not measured, the most common reason first; "" if all
// were.
func WhyNotMeasured(s *Suite) string {
	const here, timely, levels, failed = "need what is not here", "of parts left out for want of time", "of levels left out", "for other reasons"
	counts := map[string]int{}
	for i := range s.Figures {
		for k := range s.Figures[i].Statements {
			st := &s.Figures[i].Statements[k]
			switch why := st.Why; {
			case st.Agreement != record.NotMeasured:
			case strings.Contains(why, " left out: another value"), strings.Contains(why, " left out: there is no time"):
				counts[timely]++
			case strings.Contains(why, " left out: "):
				counts[here]++
			case strings.HasPrefix(why, "left out: "), strings.HasPrefix(why, "no two levels"), strings.Contains(why, "does not have this level"):
				counts[levels]++
			default:
				counts[failed]++
			}
		}
	}
	reasons := []string{timely, levels, here, failed}
	slices.SortStableFunc(reasons, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	var words []string
	for _, r := range reasons {
		if counts[r] > 0 {
			words = append(words, fmt.Sprintf("%d %s", counts[r], r))
		}
	}
	return strings.Join(words, ", ")
}
