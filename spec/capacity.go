package spec

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// Capacity is the specification of a search for the highest load that a deployment carries.
type Capacity struct {
	// Name is the name of the search in tables and on pages.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// Run is the target, the workload, and how operations are sent. The search sets its rate and duration, and raises its
	// workers.
	Run Run `json:"run" yaml:"run"`
	// Objectives must hold at the rate, p99<20ms and errors<0.1% if absent.
	Objectives []string `json:"objectives,omitempty" yaml:"objectives,omitempty"`
	// Search says how the rate is searched.
	Search CapacitySearch `json:"search" yaml:"search,omitempty"`
	// Within is the time for everything except loading the data: 15m if there are events, 5m otherwise.
	Within Duration `json:"within,omitempty" yaml:"within,omitempty"`
	// While are the events during which a line of its own is searched, each as ACTION:PLACE, such as kill:secondary.
	// Absent on a lab of a replica set, these are kill:secondary and initial-sync:secondary; [none] has none.
	While []Action `json:"while,omitempty" yaml:"while,omitempty"`
	// Must are the names of the lines that count for the safe load; all lines if absent.
	Must []string `json:"must,omitempty" yaml:"must,omitempty"`
	// Recovery is how long redundancy may take to return after an event, 2m if absent.
	Recovery Duration `json:"recovery,omitempty" yaml:"recovery,omitempty"`
	// Platform is a file that names the members of a target that is not a lab, and the commands that break them.
	Platform string `json:"platform,omitempty" yaml:"platform,omitempty"`
	// YesBreakIt permits events on a target that is not a lab.
	YesBreakIt bool `json:"yes_break_it,omitempty" yaml:"yes_break_it,omitempty"`
	// Out is the directory of the record.
	Out string `json:"out,omitempty" yaml:"out,omitempty"`
	// Labels are kept with the result, to find it again.
	Labels map[string]string `json:"labels,omitempty" yaml:"labels,omitempty"`
}

// CapacitySearch says how the highest offered rate that holds the objectives is searched.
type CapacitySearch struct {
	// From is the first rate, and To the highest that is tried.
	From Rate `json:"from,omitempty" yaml:"from,omitempty"`
	To   Rate `json:"to,omitempty" yaml:"to,omitempty"`
	// Growth is the factor of the ramp, 1.5 if absent.
	Growth float64 `json:"growth,omitempty" yaml:"growth,omitempty"`
	// Precision is how far the ends of the interval may be from the answer, as a share, 5% if absent.
	Precision Share `json:"precision,omitempty" yaml:"precision,omitempty"`
	// Confirm is the least number of fresh trials just below and just above the answer together, 4 if absent.
	Confirm Count `json:"confirm,omitempty" yaml:"confirm,omitempty"`
	// Duration is the time of each step. Absent, it follows from the percentile and the time.
	Duration Duration `json:"duration,omitempty" yaml:"duration,omitempty"`
	// Steps is the largest number of steps. Absent, it is 60 in a capacity, and 24 in a study, which has no time limit.
	Steps Count `json:"steps,omitempty" yaml:"steps,omitempty"`
}

// AllMembersUp is the name of the line without events, which a capacity always has.
const AllMembersUp = "all members up"

// NoEvents as the only event of a capacity means that there are none.
const NoEvents = "none"

const maxSteps = 1000

// capacityObjectives are the objectives of a capacity without any.
func capacityObjectives() []string { return []string{"p99<20ms", "errors<0.1%"} }

// ReadCapacity reads a capacity in YAML, as strictly as [ReadRun].
func ReadCapacity(r io.Reader) (Capacity, error) { return ReadStrict[Capacity](r, "capacity") }

// Complete fills in the defaults and checks the result; see [Run.Complete].
func (c *Capacity) Complete() error { return complete(c, &c.Run.Workload) }

// Defaults fills in missing values.
func (c *Capacity) Defaults() {
	def(&c.Name, "capacity")
	c.Objectives = slices.Concat(c.Objectives, c.Run.Objectives)
	c.Run.Objectives = nil
	if len(c.Objectives) == 0 {
		c.Objectives = capacityObjectives()
	}
	if _, lab := LabOf(c.Run.Target); lab && c.While == nil {
		c.While = []Action{{"kill", "secondary"}, {"initial-sync", "secondary"}}
	}
	if len(c.While) == 1 && c.While[0].String() == NoEvents {
		c.While = []Action{}
	}
	within := 5 * time.Minute
	if len(c.While) > 0 {
		within = 15 * time.Minute
	}
	def(&c.Within, Duration(within))
	def(&c.Recovery, Duration(2*time.Minute))
	def(&c.Search.Steps, 60) // the time ends a search
	c.Search.Defaults()
	def(&c.Run.Load.Timeout, Duration(2*time.Second)) // a step that fails must end
	def(&c.Run.Load.Workers, 64)
	def(&c.Run.Load.Duration, Duration(time.Second)) // each step has its own
	c.Run.Defaults()
}

// Defaults fills in missing values except From (a closed loop then finds the first rate), To (the ramp then ends at the
// first rate that does not hold) and Duration.
func (c *CapacitySearch) Defaults() {
	def(&c.Growth, 1.5)
	def(&c.Precision, 0.05)
	def(&c.Confirm, 4)
	def(&c.Steps, 24)
}

// Lines are the names of the lines that are searched, in order.
func (c *Capacity) Lines() []string {
	names := []string{AllMembersUp}
	for _, w := range c.While {
		names = append(names, w.String())
	}
	return names
}

// Counts reports whether a line counts for the safe load.
func (c *Capacity) Counts(line string) bool { return len(c.Must) == 0 || slices.Contains(c.Must, line) }

// Validate checks a capacity with its defaults, as far as that is possible without the target.
func (c *Capacity) Validate() error {
	_, objectives := measure.ParseObjectives(strings.Join(c.Objectives, ","))
	errs := []error{
		plainName("name", c.Name), directory("out", c.Out), indented("run", c.Run.Validate()),
		indented("search", c.Search.validate()), indented("objectives", objectives),
		notNegative("within", c.Within), notNegative("recovery", c.Recovery), c.checkLoad(), c.checkEvents(),
	}
	return errors.Join(errs...)
}

// checkLoad refuses what a search decides by itself.
func (c *Capacity) checkLoad() error {
	l := c.Run.Load
	switch {
	case l.Rate > 0 || l.Speed > 0 || len(l.Stages) > 0 || l.Pace > 0:
		return errors.New("run.load: the search sets the rate. Remove rate, speed, stages and pace; search.from and search.to limit it")
	case c.Run.LoadPhase.Only:
		return errors.New("run.load_phase.only: a capacity needs a load. Remove it")
	case c.Run.Out != "":
		return errors.New("run.out: the records of the steps are below the directory of the capacity. Set out instead")
	}
	return nil
}

func (c *Capacity) checkEvents() error {
	var errs []error
	for i, w := range c.While {
		if cmp.Or(w.Name, w.Target) == "" || slices.Index(c.While, w) != i {
			errs = append(errs, fmt.Errorf("while[%d]: %q is empty or given twice. Write ACTION:PLACE, such as kill:secondary", i, w))
		}
	}
	for _, m := range c.Must {
		if !slices.Contains(c.Lines(), m) {
			errs = append(errs, fmt.Errorf("must: there is no line %q. The lines are: %s", m, strings.Join(c.Lines(), ", ")))
		}
	}
	_, lab := LabOf(c.Run.Target)
	if len(c.While) > 0 && !lab && c.Platform == "" && !c.YesBreakIt {
		errs = append(errs, errors.New("while: the target is not a lab. Name a platform file with the commands that break it (--platform), "+
			"or permit the events with --yes-break-it"))
	}
	return errors.Join(errs...)
}

func (c *CapacitySearch) validate() error {
	errs := []error{
		between("from", float64(c.From), 0, 1e8), between("to", float64(c.To), 0, 1e8),
		between("confirm", float64(c.Confirm), 0, maxTrials), between("steps", float64(c.Steps), 0, maxSteps),
		notNegative("duration", c.Duration),
	}
	if c.From != 0 && c.To != 0 && c.To < c.From {
		errs = append(errs, fmt.Errorf("to (%v) is below from (%v)", c.To, c.From))
	}
	if c.Precision != 0 {
		errs = append(errs, between("precision", float64(c.Precision), 0.002, 0.5))
	}
	if c.Growth != 0 {
		errs = append(errs, between("growth", c.Growth, 1.01, 100))
	}
	return errors.Join(errs...)
}
