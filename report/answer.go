package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// comparedAnswer answers in one line which of two sides is faster: "after is 12 % slower than before (p99 of reads;
// 95 % interval 8 to 16 %), 14 runs each". "" if there are other than two sides.
func comparedAnswer(r *record.ComparisonReport) string {
	if len(r.Sides) != 2 {
		return ""
	}
	a, b := &r.Sides[0], &r.Sides[1]
	x := sidesAnswer{a: sideName(a.Name, b.Name), b: sideName(b.Name, a.Name), noun: nounOf(r), n: b.N, base: a.N,
		list:   r.Comparisons,
		probes: ofProbes(r), confidence: r.Confidence}
	var why []string
	for _, d := range r.Differences {
		if d.Severity != measure.Note && !slices.Contains(why, d.What) {
			why = append(why, d.What)
		}
	}
	invalid := slices.ContainsFunc(r.Differences, func(d record.Difference) bool { return d.Severity == measure.Invalid })
	switch {
	case invalid && measure.Worst(r.Validity) == measure.Invalid:
		return fmt.Sprintf("%s and %s cannot be compared: they differ in %s", x.a, x.b, listed3(why))
	case slices.ContainsFunc(r.Validity, func(f measure.Finding) bool { return f.ID == "same-records" }):
		return "cannot tell: a record is on both sides, so it is compared with itself"
	case measure.Worst(r.Validity) == measure.Invalid:
		return "cannot tell: the records do not allow it"
	}
	if text := linesAnswer(r, x.a, x.b); text != "" {
		return text
	}
	if !x.decided() {
		switch {
		case x.n < 2 || x.base < 2:
			x.cannot = "one " + x.noun + " on a side"
		case r.WouldTell != "":
			x.cannot = "the sides did not run in turn often enough"
		}
	}
	return x.text()
}

// linesAnswer is the answer for load lines, "" for other comparisons.
func linesAnswer(r *record.ComparisonReport, a, b string) string {
	var moved, open []string
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		words := judge.LineWords(c.Metric)
		switch {
		case words == "":
			return ""
		case c.Adjusted != nil && *c.Adjusted <= 1-r.Confidence:
			moved = append(moved, c.Note)
		}
		open = append(open, cmp.Or(c.Note, "the "+words+" is not known"))
	}
	switch {
	case len(moved) > 0:
		return "cannot tell from one search each: " + strings.Join(moved, "; ") + " from " + a + " to " + b
	case len(open) > 0:
		return "cannot tell from one search each: " + open[0]
	}
	return ""
}

// ofProbes reports whether disks were compared.
func ofProbes(r *record.ComparisonReport) bool {
	return len(r.Comparisons) > 0 && diskUses[r.Comparisons[0].Metric] != ""
}

func nounOf(r *record.ComparisonReport) string {
	if ofProbes(r) {
		return "probe"
	}
	return "run"
}

// comparedNext is the command that would tell what a comparison could not, if there is one.
func comparedNext(r *record.ComparisonReport) Next {
	switch {
	case r.WouldTell == "":
		return reportNext()
	case strings.HasPrefix(r.WouldTell, "plimsoll run "):
		return Next{r.WouldTell, "how much its runs differ"}
	}
	return Next{r.WouldTell, "runs both in turn until the answer is known"}
}

// comparedText names what is compared: "durability.name (durable, balanced)".
func comparedText(list []record.Difference) string {
	var parts []string
	for _, d := range list {
		if d.Compared {
			parts = append(parts, d.What+" ("+strings.Join(d.Values, ", ")+")")
		}
	}
	return listed3(parts)
}

// listed3 lists at most three things.
func listed3(list []string) string {
	const most = 3
	if len(list) > most {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
	}
	return strings.Join(list, ", ")
}

// decidedAnswer is the answer of a study of two configurations that ran until it was decided, or of one configuration;
// "" for other studies.
func decidedAnswer(s *record.Study) string {
	if len(s.Configurations) == 1 && s.Procedures == nil {
		return repeatedAnswer(s)
	}
	if !s.Specification.UntilDecided || len(s.Configurations) != 2 {
		return ""
	}
	names := map[string]string{}
	for _, c := range s.Configurations {
		for _, level := range c.Levels {
			names[c.ID] = level
		}
	}
	base := s.BaselineID()
	x := sidesAnswer{a: cmp.Or(names[base], base), noun: "trial", list: s.Comparisons,
		confidence: float64(s.Specification.Confidence)}
	for _, c := range s.Configurations {
		if c.ID != base {
			x.b = cmp.Or(names[c.ID], c.ID)
		}
	}
	for _, c := range s.Comparisons {
		x.n, x.base = max(x.n, c.N), max(x.base, c.NBase)
	}
	switch {
	case x.decided():
	case s.Status != record.Complete:
		x.cannot = "it is not complete"
	default:
		if s.Ended != nil {
			x.after = elapsed(s.Ended.Sub(s.Started))
		}
	}
	return x.text()
}

// decidedNext is the command that continues a study until decided that is not.
func decidedNext(s *record.Study) string {
	open := slices.ContainsFunc(s.Comparisons, func(c record.Comparison) bool { return c.Verdict == record.Inconclusive })
	left := slices.ContainsFunc(s.Trials, func(t record.Trial) bool { return t.Status == record.TrialLeft })
	if !s.Specification.UntilDecided || !open || !left || s.Status == record.Running || slices.ContainsFunc(s.Comparisons,
		func(c record.Comparison) bool { return c.Verdict == record.Better || c.Verdict == record.Worse }) {
		return ""
	}
	return "plimsoll study resume DIR"
}

// repeatedAnswer says how much the runs of one configuration differ: "4,803 ok/s, from 3,143 to 5,750 in 3 runs".
func repeatedAnswer(s *record.Study) string {
	var values []float64
	for i := range s.Trials {
		t := &s.Trials[i]
		if x, ok := t.Values["throughput"]; ok && countsFor(t) {
			values = append(values, x)
		}
	}
	if len(values) == 0 {
		return ""
	}
	return disclosed(figure.Rate(measure.Median(values))+" ok/s", s.Base.Target) + fmt.Sprintf(", from %s to %s in %s",
		figure.Rate(slices.Min(values)), figure.Rate(slices.Max(values)), figure.Plural(len(values), "run"))
}

// sidesAnswer is the answer to which of two sides is faster.
type sidesAnswer struct {
	a, b       string // the baseline, and what is compared with it
	noun       string // what was repeated
	n, base    int    // how often
	list       []record.Comparison
	confidence float64 // of the intervals
	probes     bool    // the comparisons are uses of a disk, each with its own answer
	cannot     string  // why there is no verdict, if that is known
	after      string  // the time after which there is none
}

func (x *sidesAnswer) of(verdicts ...record.Verdict) (list []*record.Comparison) {
	for i := range x.list {
		if slices.Contains(verdicts, x.list[i].Verdict) {
			list = append(list, &x.list[i])
		}
	}
	return list
}

func (x *sidesAnswer) decided() bool {
	return len(x.of(record.Better, record.Worse)) > 0 || len(x.list) > 0 && len(x.of(record.Inconclusive)) == 0
}

func (x *sidesAnswer) text() string {
	if x.probes {
		return x.uses()
	}
	worse, better, open := x.of(record.Worse), x.of(record.Better), x.of(record.Inconclusive)
	switch {
	case len(worse) > 0 && len(better) > 0:
		return fmt.Sprintf("%s is %s but %s than %s, %s", x.b, x.speed(worse[0], ""), x.speed(better[0], ""), x.a, x.count())
	case len(worse) > 0:
		return fmt.Sprintf("%s is %s, %s", x.b, x.speed(worse[0], x.a), x.count())
	case len(better) > 0:
		return fmt.Sprintf("%s is %s, %s", x.b, x.speed(better[0], x.a), x.count())
	case len(x.list) == 0:
		return "cannot tell: nothing could be compared"
	case len(open) == 0:
		return fmt.Sprintf("no difference: %s is within %s of %s (%s), %s", x.b, figure.Limit(x.list[0].Margin), x.a,
			metricNames(x.list), x.count())
	}
	return join(": ", "cannot tell"+prefixed(" after ", x.after), join("; ", x.cannot, betweenText(x.b, open[0]))) + ", " + x.count()
}

// uses answer for each use of two disks.
func (x *sidesAnswer) uses() string {
	var better, worse, same, open []string
	for i := range x.list {
		c := &x.list[i]
		use := metricName(c.Metric)
		switch c.Verdict {
		case record.Better:
			better = append(better, use+" ("+amount(c)+prefixed("; ", x.interval(c))+")")
		case record.Worse:
			worse = append(worse, use+" ("+amount(c)+prefixed("; ", x.interval(c))+")")
		case record.Equivalent:
			same = append(same, use)
		default:
			open = append(open, use)
		}
	}
	parts := []string{prefixed(x.b+" is better for ", strings.Join(better, ", ")),
		prefixed(map[bool]string{true: "worse for ", false: x.b + " is worse for "}[len(better) > 0], strings.Join(worse, ", ")),
		prefixed("no difference for ", strings.Join(same, ", ")), prefixed("cannot tell for ", strings.Join(open, ", "))}
	for _, name := range slices.Sorted(maps.Keys(diskUses)) {
		if !slices.ContainsFunc(x.list, func(c record.Comparison) bool { return c.Metric == name }) {
			parts = append(parts, diskUses[name]+" not measured")
		}
	}
	if len(better)+len(worse)+len(same) == 0 {
		parts = []string{"cannot tell which is better" + prefixed(": ", x.cannot)}
		if len(x.list) > 0 && x.list[0].Ratio != nil {
			parts[0] += "; " + betweenText(x.b, &x.list[0])
		}
	}
	return join("; ", parts...) + ", " + x.count()
}

func (x *sidesAnswer) count() string {
	if x.n == x.base {
		return figure.Plural(x.n, x.noun) + " each"
	}
	return fmt.Sprintf("%d and %s", x.base, figure.Plural(x.n, x.noun))
}

// metricNames names the metrics of comparisons.
func metricNames(list []record.Comparison) string {
	var names []string
	for i := range list {
		if worthALine(&list[i]) {
			names = append(names, metricName(list[i].Metric))
		}
	}
	return listed3(names)
}

// interval is that of a change in words, "" if it has none: "95 % interval 8 to 16 %".
func (x *sidesAnswer) interval(c *record.Comparison) string {
	low, high, ok := changes(c)
	if !ok {
		return ""
	}
	return figure.Limit(cmp.Or(x.confidence, 0.95)) + " interval " + low + " to " + high
}

// speed is a change in words: "12 % slower than A (p99 of reads; 95 % interval 8 to 16 %)".
func (x *sidesAnswer) speed(c *record.Comparison, than string) string {
	text := metricName(c.Metric) + prefixed("; ", x.interval(c))
	word := amount(c)
	if strings.HasSuffix(word, " as slow") || strings.HasSuffix(word, " as fast") {
		return word + prefixed(" as ", than) + " (" + text + ")"
	}
	return word + prefixed(" than ", than) + " (" + text + ")"
}

// amount is how much better or worse: "12 % slower", "3.1 times as fast", "worse: +2 pp".
func amount(c *record.Comparison) string {
	if c.Ratio == nil || c.Unit == measure.UnitShare {
		word := map[record.Verdict]string{record.Better: "better", record.Worse: "worse"}[c.Verdict]
		return word + prefixed(" by ", strings.TrimLeft(changeText(c), "+-"))
	}
	ratio := *c.Ratio
	slower := ratio > 1 != c.Higher
	word := map[bool]string{true: "slower", false: "faster"}[slower]
	if math.Abs(math.Log(ratio)) > math.Ln2 {
		if ratio < 1 {
			ratio = 1 / ratio
		}
		return figure.Significant(ratio) + " times as " + map[bool]string{true: "slow", false: "fast"}[slower]
	}
	return whole(math.Abs(ratio-1)) + " " + word
}

// changes are the ends of the interval of a change, in the words of [amount] and in rising order.
func changes(c *record.Comparison) (low, high string, ok bool) {
	if c.Ratio == nil || c.Low == nil || c.High == nil || c.Unit == measure.UnitShare {
		return "", "", false
	}
	ends := []float64{*c.Low, *c.High}
	if math.Abs(math.Log(*c.Ratio)) > math.Ln2 {
		if *c.Ratio < 1 {
			ends = []float64{1 / *c.High, 1 / *c.Low}
		}
		return figure.Significant(ends[0]), figure.Significant(ends[1]) + " times", true
	}
	for i := range ends {
		ends[i]--
		if *c.Ratio < 1 {
			ends[i] = -ends[i]
		}
	}
	slices.Sort(ends)
	if low, high = strings.TrimSuffix(whole(ends[0]), " %"), whole(ends[1]); low+" %" == high {
		low, high = fmt.Sprintf("%.1f", ends[0]*100), fmt.Sprintf("%.1f %%", ends[1]*100)
	}
	return low, high, true
}

// betweenText is what is known of an open difference: "B is between 2 % faster and 3 % slower (throughput)".
func betweenText(name string, c *record.Comparison) string {
	one := func(ratio float64) string {
		x := *c
		x.Ratio = &ratio
		return amount(&x)
	}
	switch {
	case c.Ratio == nil || c.Unit == measure.UnitShare:
		return ""
	case c.Low == nil || c.High == nil:
		return fmt.Sprintf("%s was %s (%s)", name, one(*c.Ratio), metricName(c.Metric))
	}
	return fmt.Sprintf("%s is between %s and %s (%s)", name, one(*c.Low), one(*c.High), metricName(c.Metric))
}

// whole is a share in percent without more digits than a reader needs.
func whole(share float64) string {
	percent := share * 100
	if math.Abs(percent) >= 10 || percent == math.Trunc(percent) {
		return strconv.FormatFloat(percent, 'f', 0, 64) + " %"
	}
	return strings.TrimSuffix(strconv.FormatFloat(percent, 'f', 1, 64), ".0") + " %"
}

// uses of a disk, by the names of the metrics of probes.
var diskUses = map[string]string{"journal": "the journal", "checkpoint": "checkpoints", "random-reads": "random reads"}

// metricName is a metric in words: "throughput", "p99 of reads", "service p99".
func metricName(name string) string {
	if use := diskUses[name]; use != "" {
		return use
	}
	class, rest := splitMetric(name)
	rest = strings.Replace(rest, "service.", "service ", 1)
	switch {
	case class == "":
		return rest
	case strings.HasSuffix(class, "y"):
		class = strings.TrimSuffix(class, "y") + "ies"
	case !strings.ContainsAny(class, "-_ ") && !strings.HasSuffix(class, "s"):
		class += "s"
	}
	return rest + " of " + class
}

// sideName shortens the name of a side to the last part of its path, if that tells it from the other.
func sideName(name, other string) string {
	last := func(s string) string { return s[strings.LastIndexByte(strings.TrimRight(s, "/"), '/')+1:] }
	if last(name) != "" && strings.TrimRight(last(name), "/") != strings.TrimRight(last(other), "/") {
		return strings.TrimRight(last(name), "/")
	}
	return name
}

// elapsed is a time in words: "15 minutes".
func elapsed(d time.Duration) string {
	if d < 90*time.Second {
		return figure.Plural(int(d.Round(time.Second)/time.Second), "second")
	}
	return figure.Plural(int(d.Round(time.Minute)/time.Minute), "minute")
}
