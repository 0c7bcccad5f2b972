package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

// families are all families, in the order of docs/trust.md.
func families() []family {
	return []family{
		drillFamily(),
		beforeFamily(),
		isolationFamily(),
		diskFamily(),
		agentFamily(),
		clientFamily(),
		runFamily(),
		studyFamily(), compareFamily(), historyFamily(), ciFamily(),
		judgesFamily(),
		predictionFamily(),
		documentFamily(),
		limitFamily(),
	}
}

// family has the trials of one verdict.
type family struct {
	name    string // of -family and of the file with its result
	verdict string // what Plimsoll states, as a phrase of Markdown
	rows    []row
	// notFound are lies that no row has, or that remain unseen, in words.
	notFound []string
	// start prepares what all trials share, such as a server; nil if there is nothing. stop may be nil.
	start func(ctx context.Context, c config) (stop func() error, err error)
	// about names what the trials ran on, such as a server and its version, once start has returned; nil for nothing.
	about func() string
	// matrix says that trials name what they found, which is then shown for each row.
	matrix bool
	// resumes says that the answers of trials are kept, so that the family continues where it was stopped. Its trials
	// are in turns: one of each row, then the next of each.
	resumes bool
	// parallel is the number of trials at a time, at least 1. Trials that depend on processor time run alone.
	parallel int
}

// row is one lie, or one honest input that looks like a lie.
type row struct {
	name        string // of -row
	lie, honest string // what the verdict gets: one of the two, as a phrase of Markdown
	plants      string // the label that the trials of a family with a matrix have to get
	goal        goal
	small, full int // trials of each version; small: 0 leaves the row out of it
	try         func(ctx context.Context, t *trial) (answer, error)
	// notFound says which forms of this lie are not found; "" if all forms in the row are.
	notFound string
}

// answer is what a verdict said of the input of a trial.
type answer int

const (
	cleared    answer = iota // the verdict believed the input
	accused                  // the verdict found a lie
	undecided                // the verdict gave no judgement, such as unknown
	notPlanted               // the input did not become the lie of the row; the trial does not count
)

// goal bounds the share of accused trials.
type goal struct{ least, most float64 }

var (
	everyOne  = goal{1, 1} // of a lie: all are found
	none      = goal{0, 0} // of an honest input: none is accused
	unclaimed = goal{0, 1} // the share is measured and not promised
)

func atLeast(share float64) goal { return goal{share, 1} }
func atMost(share float64) goal  { return goal{0, share} }

func (g goal) String() string {
	switch g {
	case everyOne:
		return "all"
	case none:
		return "none"
	case unclaimed:
		return "not claimed"
	}
	switch {
	case g.least == 0:
		return fmt.Sprintf("≤ %.4g %%", g.most*100)
	case g.most == 1:
		return fmt.Sprintf("≥ %.4g %%", g.least*100)
	}
	return fmt.Sprintf("%.4g–%.4g %%", g.least*100, g.most*100)
}

// trial is one trial of a row.
type trial struct {
	seed uint64 // of this trial
	rand *rand.Rand
	c    config

	dirs  []string
	said  string
	named string // what the verdict named, for families with a matrix
}

// say keeps what a person needs to understand an unexpected answer.
func (t *trial) say(format string, a ...any) { t.said += fmt.Sprintf(format, a...) + "\n" }

// dir makes a temporary directory that is removed after the trial.
func (t *trial) dir() (string, error) {
	dir, err := os.MkdirTemp(t.c.scratch, "trial")
	t.dirs = append(t.dirs, dir)
	return dir, err
}

// notHere is the error of a trial or of start that needs something that this machine does not have, such as root.
type notHere string

func (n notHere) Error() string { return "not run here: " + string(n) }

// confidence is that of all intervals.
const confidence = 0.95

// mostShown is how many unexpected answers of a row are reported one by one.
const mostShown = 5

// counts is the result of one row.
type counts struct {
	Row        string `json:"row"`
	Accused    int    `json:"accused"`
	Cleared    int    `json:"cleared"`
	Undecided  int    `json:"undecided,omitempty"`
	NotPlanted int    `json:"not_planted,omitempty"`
	Failed     int    `json:"failed,omitempty"` // trials that ended with an error
	NotRun     string `json:"not_run,omitempty"`
	// Named is how often the verdict named what, of families with a matrix.
	Named map[string]int `json:"named,omitempty"`
	// Made says when and of which commit, if the row was not made with the others.
	Made string `json:"made,omitempty"`

	shown int // unexpected answers that were reported
}

func (c counts) trials() int { return c.Accused + c.Cleared + c.Undecided }

func (c counts) interval() stats.Interval {
	return stats.BinomialInterval(c.Accused, c.trials(), confidence)
}

// state is how a row stands to its goal.
type state string

const (
	met     state = "met"
	missed  state = "missed"
	open    state = "open" // the share misses the goal, and its interval includes the goal: more trials would decide
	notRun  state = "not run here"
	noClaim state = "not claimed"
	unknown state = "without a stored result"
)

func (c counts) state(g goal) state {
	share, iv := float64(c.Accused)/float64(max(1, c.trials())), c.interval()
	switch {
	case c.NotRun != "":
		return notRun
	case c.Failed > 0:
		return missed
	case g == unclaimed:
		return noClaim
	case c.trials() == 0:
		return open
	case share >= g.least && share <= g.most:
		return met
	case iv.High >= g.least && iv.Low <= g.most:
		return open
	}
	return missed
}

// unexpected says whether one answer alone speaks against the goal of its row.
func (r row) unexpected(a answer) bool {
	return r.lie != "" && r.goal != unclaimed && (a == cleared || a == undecided) || r.honest != "" && a == accused
}

// run does all trials of the rows that c selects. log receives unexpected answers and the progress. Only full results
// resume.
func (f family) run(ctx context.Context, c config, log io.Writer) (result, error) {
	began := time.Now()
	res := result{Family: f.name, Seed: c.seed}
	var missing notHere
	if f.start != nil {
		stop, err := f.start(ctx, c)
		if err != nil && !errors.As(err, &missing) {
			return res, fmt.Errorf("%s: %w", f.name, err)
		}
		if stop != nil {
			defer func() {
				if err := stop(); err != nil {
					fmt.Fprintf(log, "%s: %v\n", f.name, err)
				}
			}()
		}
	}
	if f.about != nil && missing == "" {
		res.About = f.about()
	}
	for _, r := range f.rows {
		if r.trials(c) > 0 && (c.row == "" || slices.Contains(strings.Split(c.row, ","), r.name)) {
			res.Rows = append(res.Rows, counts{Row: r.name, NotRun: string(missing)})
		}
	}
	if missing == "" && f.resumes && !c.small && c.n == 0 {
		root, err := clone()
		if err != nil {
			return res, err
		}
		if res.Rules, err = frozen(root); err != nil {
			return res, err
		}
		before, err := f.resumed(ctx, c, root, res.Rows, log)
		if err != nil {
			return res, err
		}
		began = began.Add(-before)
	} else if missing == "" {
		f.trials(ctx, c, res.Rows, log)
	}
	res.Seconds = time.Since(began).Round(100 * time.Millisecond).Seconds()
	return res, ctx.Err()
}

// rowOf is the row of counts.
func (f family) rowOf(c counts) row {
	return f.rows[slices.IndexFunc(f.rows, func(r row) bool { return r.name == c.Row })]
}

// resumed does the trials whose answers are not kept yet, and returns how long the kept ones took.
func (f family) resumed(ctx context.Context, c config, root string, rows []counts, log io.Writer) (before time.Duration,
	err error) {
	j, err := journalOf(root, f.name)
	if err != nil {
		return 0, err
	}
	defer j.file.Close()
	most := 0
	for _, count := range rows {
		most = max(most, f.rowOf(count).trials(c))
	}
	for n := range most {
		for i := range rows {
			count, r := &rows[i], f.rowOf(rows[i])
			if n >= r.trials(c) || count.NotRun != "" {
				continue
			}
			t := newTrial(f, r, c, c.seed+uint64(n))
			k, known := j.kept[trialKey{r.name, t.seed}]
			var err error
			if known {
				before += time.Duration(k.Seconds * float64(time.Second))
				t.named, t.said = k.Named, k.Said
			} else if k, err = f.timed(ctx, r, t); ctx.Err() != nil {
				fmt.Fprintf(log, "%s: stopped; the same command continues after %d trials\n", f.name, len(j.kept))
				return before, nil
			} else if err == nil {
				fmt.Fprintf(log, "%s, %s, %d of %d: %s, %.1f s\n", f.name, r.name, n+1, r.trials(c), t.named, k.Seconds)
				if err := j.add(k); err != nil {
					return before, err
				}
			}
			f.count(count, r, t, k.Answer, err, log)
		}
	}
	return before, nil
}

// timed does one trial.
func (f family) timed(ctx context.Context, r row, t *trial) (k kept, err error) {
	defer t.remove()
	began := time.Now()
	k.trialKey = trialKey{r.name, t.seed}
	k.Answer, err = r.try(ctx, t)
	k.Named, k.Said, k.Seconds = t.named, t.said, time.Since(began).Seconds()
	return k, err
}

// count adds the answer of a trial to the counts of its row, and reports an unexpected one.
func (f family) count(count *counts, r row, t *trial, a answer, err error, log io.Writer) {
	count.add(a, err)
	if err == nil && t.named != "" {
		if count.Named == nil {
			count.Named = map[string]int{}
		}
		count.Named[t.named]++
	}
	if (err != nil || r.unexpected(a)) && !errors.As(err, new(notHere)) {
		if count.shown++; count.shown <= mostShown {
			f.report(log, r, t, a, err)
		}
	}
}

func (r row) trials(c config) int {
	switch {
	case c.n > 0:
		return c.n
	case c.small:
		return r.small
	}
	return r.full
}

// trials does the trials of rows and counts their answers. Trial i of a row has the seed c.seed + i, so each can be
// repeated alone.
func (f family) trials(ctx context.Context, c config, rows []counts, log io.Writer) {
	var lock sync.Mutex
	type job struct {
		of    row
		count *counts
		i     int
	}
	jobs := make(chan job)
	var all sync.WaitGroup
	for range max(1, f.parallel) {
		all.Go(func() {
			for j := range jobs {
				lock.Lock()
				skip := j.count.NotRun != "" || ctx.Err() != nil
				lock.Unlock()
				if skip {
					continue
				}
				t := newTrial(f, j.of, c, c.seed+uint64(j.i))
				a, err := j.of.try(ctx, t)
				t.remove()
				lock.Lock()
				if ctx.Err() == nil {
					f.count(j.count, j.of, t, a, err, log)
				}
				lock.Unlock()
			}
		})
	}
	for i := range rows {
		r := f.rowOf(rows[i])
		for n := range r.trials(c) {
			jobs <- job{r, &rows[i], n}
		}
	}
	close(jobs)
	all.Wait()
}

func (c *counts) add(a answer, err error) {
	var missing notHere
	switch {
	case errors.As(err, &missing):
		c.NotRun = string(missing)
	case err != nil:
		c.Failed++
	case a == accused:
		c.Accused++
	case a == cleared:
		c.Cleared++
	case a == undecided:
		c.Undecided++
	case a == notPlanted:
		c.NotPlanted++
	}
}

func (f family) report(log io.Writer, r row, t *trial, a answer, err error) {
	words := map[answer]string{cleared: "not found", accused: "accused", undecided: "no verdict"}[a]
	if err != nil {
		words = err.Error()
	}
	fmt.Fprintf(log, "%s, %s: %s (again: go run ./liars -family %[1]s -row %[2]s -seed %[4]d -n 1)\n%[5]s", f.name, r.name,
		words, t.seed, t.said)
}

func newTrial(f family, r row, c config, seed uint64) *trial {
	name := fnv.New64a()
	_, _ = io.WriteString(name, filepath.Join(f.name, r.name)) // rows with the same seed differ
	return &trial{seed: seed, rand: rand.New(rand.NewPCG(seed, name.Sum64())), c: c}
}

func (t *trial) remove() {
	for _, dir := range t.dirs {
		_ = os.RemoveAll(dir) // else the scratch directory is removed at the end
	}
}
