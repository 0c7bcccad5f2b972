package suite

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/conduct"
	"github.com/plimsoll-bench/plimsoll/suite/fit"
)

// allowed is the time for a suite, 0 for no limit.
func allowed(s *record.Suite) time.Duration {
	return fit.Allowed(s.Limit.Std(), s.Budget == record.BudgetSmoke)
}

// timeLeft is the rest of that time. Earlier sessions count, pauses between them do not.
func (c *session) timeLeft() time.Duration { return c.Budget.Left(c.Now()) }

// closing is kept free if something has to be left out: the report takes time too.
func (c *session) closing() time.Duration { return min(c.Budget.Limit/50, 15*time.Second) }

// priorShare is the share of the budget that is the weight of the estimates. The first parts may be odd.
const priorShare = 0.2

// lateSlack is by which share of the time that is left a suite may be late before something is left out: estimates are
// not more exact, and the less time is left the less that is.
const lateSlack = 0.02

// pace returns by how much parts of a kind take longer than estimated, from the finished ones.
func (c *session) pace(kind string) float64 {
	var p campaign.Pace
	for _, part := range c.Result.Parts {
		if part.Status == record.PartDone {
			p.Learn(part.Kind, part.Seconds, part.Estimate)
		}
	}
	if u := c.under; u != nil {
		p.Learn(record.KindStudy, u.took, u.thought)
	}
	return p.Factor(kind, priorShare*c.Budget.Limit.Seconds())
}

// under is what the running study shows about the machine: the time so far, and the estimated one.
type under struct{ took, thought float64 }

// waits reports whether a part is still to be done.
func (c *session) waits(i int) bool {
	switch p := &c.Result.Parts[i]; p.Status {
	case record.PartPlanned, record.PartRunning:
		return true
	case record.PartFailed:
		return c.o.RetryFailed && !c.skip[p.Name] && i >= c.at
	}
	return false
}

// ahead are the parts from one on that are still to be done, with their places.
func (c *session) ahead(from int) (parts []fit.Part, places []int) {
	has := map[string]bool{}
	for i := range c.Result.Parts {
		p, plan := &c.Result.Parts[i], &c.plans[i]
		to := c.waits(i)
		if i >= from && to {
			x := fit.Part{Name: p.Name, Vital: plan.Vital, Variant: plan.Of != "" && has[plan.Of], Pace: c.pace(p.Kind)}
			if rest := c.begun(i, x.Pace); rest != nil {
				x.Under, x.Variant = rest, false
			} else {
				x.Study, x.Drill, x.Probe = plan.Study, plan.Drill, plan.Probe
			}
			parts, places = append(parts, x), append(places, i)
		}
		has[plan.Of] = has[plan.Of] || to || p.Status == record.PartDone
	}
	return parts, places
}

// begun returns the rest of a study that an earlier session began, which can only have fewer trials; nil for other
// parts.
func (c *session) begun(i int, pace float64) *study.Rest {
	p := &c.Result.Parts[i]
	if p.Kind != record.KindStudy || p.Status == record.PartPlanned && !c.again[p.Name] {
		return nil
	}
	s, err := record.OpenStudy(c.dirOf(p.Name))
	if err != nil {
		return nil
	}
	r := &study.Rest{Trials: int(s.Specification.Trials)}
	done, n := 0, 0
	for _, t := range s.Trials {
		if t.Kind == record.TrialCompared {
			n++
			if t.Status == record.TrialDone {
				done++
			}
		}
	}
	r.Done = done * r.Trials / max(1, n) // about: the study itself knows exactly
	for k := 0; k <= r.Trials; k++ {
		r.Seconds = append(r.Seconds, pace*p.Estimate*float64(max(0, k-r.Done))/float64(max(1, r.Trials)))
	}
	return r
}

func (c *session) dirOf(part string) string {
	return filepath.Join(c.Dir, record.PartsDir, part)
}

// fitParts checks before a part whether the rest still fits into the time that is left, and leaves out what does not.
func (c *session) fitParts(ctx context.Context, i int) error {
	c.at = i
	if c.Budget.Limit == 0 || c.fresh {
		c.fresh = false // the plan was made a moment ago
		return nil
	}
	parts, places := c.ahead(i)
	cut, why := c.refit(parts, "before "+c.Result.Parts[i].Name)
	if len(cut.left) == 0 {
		return nil
	}
	for n, at := range places {
		if parts[n].Under != nil {
			// It says itself, before its next block, what it leaves out.
			cut.left = slices.DeleteFunc(cut.left, func(l spec.Left) bool { return l.Part == parts[n].Name })
			continue
		}
		if err := c.become(ctx, at, cut.parts[n], cut.left); err != nil {
			return err
		}
	}
	return c.tell(why, cut.left)
}

// cuts holds parts after cuts, and what was cut.
type cuts struct {
	parts []fit.Part
	left  []spec.Left
}

// refit fits parts into the time that is left. why is the first half of every reason.
func (c *session) refit(parts []fit.Part, where string) (s cuts, why string) {
	fitted, _ := fit.Fit(parts, 0, false)
	need := 0.0
	for _, p := range fitted {
		need += p.Estimate
	}
	left := c.timeLeft()
	if need <= left.Seconds()*(1+lateSlack) {
		return s, ""
	}
	why = fmt.Sprintf("ran late: %s, %s left, %s needed on this machine", where, minutes(max(0, left)), minutes(seconds(need)))
	s.parts, s.left = fit.Refit(parts, left-c.closing(), why)
	return s, why
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// minutes is a time as clocks show it: 4:05.
func minutes(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// become makes a part what it was fitted to.
func (c *session) become(ctx context.Context, i int, x fit.Part, left []spec.Left) error {
	p, plan := &c.Result.Parts[i], &c.plans[i]
	mine := func(l spec.Left) bool { return l.Part == p.Name }
	at := slices.IndexFunc(left, mine)
	switch {
	case at < 0:
		return nil
	case x.Out && p.Status == record.PartFailed:
		c.skip[p.Name] = true
		return nil
	case x.Out:
		if p.Status == record.PartRunning { // an earlier session began it
			if err := c.sweep(ctx, c.dirOf(p.Name), *plan); err != nil {
				c.o.Progress.Note(err.Error())
			}
			c.tidy(*plan)
		}
		c.Result.Left = slices.DeleteFunc(c.Result.Left, func(l spec.Left) bool { return mine(l) && l.Late })
		p.Status, p.Problem = record.PartLeft, left[at].Why
		return nil
	}
	was := *plan
	if was.Before == nil {
		plan.Before = &was
	}
	plan.Study, plan.Drill, plan.Probe = x.Study, x.Drill, x.Probe
	p.Estimate = x.Estimate / x.Pace
	return nil
}

// tell adds what was left out to what is known of the suite, on the disk and for who watches.
func (c *session) tell(why string, left []spec.Left) error {
	if len(left) == 0 {
		return nil
	}
	c.o.Progress.Note(why + "; now left out:")
	for _, l := range left {
		c.o.Progress.Note("  " + leftText(l))
		i := slices.IndexFunc(c.Result.Left, func(have spec.Left) bool {
			return have.Late && have.Part == l.Part && have.What == l.What
		})
		if i < 0 {
			c.Result.Left = append(c.Result.Left, l)
			continue
		}
		c.Result.Left[i].To, c.Result.Left[i].Why = l.To, l.Why
	}
	return c.writeAll()
}

// writeAll writes the plan and the suite.
func (c *session) writeAll() error {
	if err := record.WritePlan(c.Store, c.plans); err != nil {
		return campaign.Unwritten(err)
	}
	return c.Write()
}

// leftText is a step in a few words; its reason was said before.
func leftText(l spec.Left) string {
	switch {
	case l.What == spec.LeftPart:
		return l.Part
	case l.To == "":
		return l.Part + ": " + l.What
	}
	return fmt.Sprintf("%s: %s, %s instead of %s", l.Part, l.What, l.To, l.From)
}

// budget is the budget of the study of a part.
type budget struct {
	ctx  context.Context // of the suite
	c    *session
	part int
	// thought is the estimated total time, before the time of earlier sessions.
	thought, before float64
	began           time.Time
	err             error // of writing down what it left out
}

var _ conduct.Budget = (*budget)(nil)

// budgetOf returns the budget of a part that begins, nil if there is none.
func (c *session) budgetOf(ctx context.Context, i int, begun time.Time) *budget {
	if c.Budget.Limit == 0 {
		return nil
	}
	p := &c.Result.Parts[i]
	return &budget{ctx: ctx, c: c, part: i, thought: p.Estimate, before: p.Seconds, began: begun}
}

// What is left of the study and the parts behind it have to fit into what is left of the time.
func (b *budget) Block(rest study.Rest) (trials int, why string) {
	c := b.c
	part := &c.Result.Parts[b.part]
	took := b.before + c.Now().Sub(b.began).Seconds()
	if whole := took + rest.Takes(rest.Trials); whole > 0 {
		c.under = &under{took, b.thought * took / whole}
	}
	defer func() { c.under = nil }()
	parts, places := c.ahead(b.part + 1)
	parts = append([]fit.Part{{Name: part.Name, Under: &rest}}, parts...)
	cut, why := c.refit(parts, "within "+part.Name)
	if len(cut.left) == 0 {
		return rest.Trials, ""
	}
	for n, at := range places {
		if err := c.become(context.WithoutCancel(b.ctx), at, cut.parts[n+1], cut.left); err != nil {
			b.err = err
		}
	}
	trials = cut.parts[0].Under.Trials
	if trials < rest.Trials {
		part.Estimate = took + rest.Takes(trials)
		if b.thought > 0 {
			part.Estimate *= b.thought / (took + rest.Takes(rest.Trials)) // at the pace of what was thought
		}
	}
	if err := c.tell(why, cut.left); err != nil {
		b.err = err
	}
	return trials, why
}

func (b *budget) Search(next time.Duration) (why string) {
	left := b.c.timeLeft() - b.c.closing()
	if left >= next {
		return ""
	}
	return fmt.Sprintf("ran late: within the procedures of %s, %s left, %s needed for the next trial alone",
		b.c.Result.Parts[b.part].Name, minutes(max(0, left)), minutes(next))
}

// longer takes the time that was given over, and reports whether it is more than there was.
func (c *session) longer() (bool, error) {
	limit, was := c.o.Limit, c.Budget.Limit
	if limit == 0 {
		return false, nil
	}
	if limit <= c.Budget.Spent {
		return false, fmt.Errorf("--budget is for the whole suite, which has already used %s. Give more than that", minutes(c.Budget.Spent))
	}
	c.Result.Limit, c.Result.Budget = spec.Duration(limit), record.BudgetTime
	c.Budget.Limit = allowed(c.Result)
	return was > 0 && limit > was, nil
}

// takeUp restores parts that were cut while the suite ran late. Finished work stays: a study continues with the skipped
// trials, and one that finished in another form keeps it.
func (c *session) takeUp() error {
	if !c.more {
		return nil
	}
	for i := range c.Result.Parts {
		p, plan := &c.Result.Parts[i], &c.plans[i]
		late := slices.ContainsFunc(c.Result.Left, func(l spec.Left) bool { return l.Late && l.Part == p.Name })
		if !late || p.Status == record.PartRunning || p.Status == record.PartFailed {
			continue
		}
		s, err := record.OpenStudy(c.dirOf(p.Name))
		switch {
		case err == nil && slices.ContainsFunc(s.Trials, func(t record.Trial) bool { return t.Status == record.TrialLeft }):
			c.again[p.Name] = true
			c.takeBack(p.Name, s.Specification.Trials.String())
		case err == nil && s.Status != record.Complete: // there was no time for its procedures
			c.takeBack(p.Name, "")
		case p.Status == record.PartDone:
			continue
		default:
			if plan.Before != nil {
				*plan = *plan.Before
			}
			c.takeBack(p.Name, "")
		}
		begun := p.Started != nil
		p.Status, p.Problem = record.PartPlanned, ""
		one, _ := fit.Fit([]fit.Part{{Name: p.Name, Study: plan.Study, Drill: plan.Drill, Probe: plan.Probe}}, 0, false)
		p.Estimate = one[0].Estimate
		if begun { // the journal says otherwise so far
			if err := c.Note(record.EventBegin, *p); err != nil {
				return err
			}
		}
	}
	return c.writeAll()
}

// takeBack forgets what a part left out because the suite ran late; with trials, it has so many again.
func (c *session) takeBack(part, trials string) {
	c.Result.Left = slices.DeleteFunc(c.Result.Left, func(l spec.Left) bool {
		return l.Late && l.Part == part && (trials == "" || l.What == "trials" && l.From == trials)
	})
	for i := range c.Result.Left {
		if l := &c.Result.Left[i]; trials != "" && l.Late && l.Part == part && l.What == "trials" {
			l.To = trials
		}
	}
}
