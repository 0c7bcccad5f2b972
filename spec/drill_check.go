package spec

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Values of [Expect.Loss].
const (
	LossNone   = "none"
	LossWindow = "window"
	LossAny    = "any"
	// LossUnknown is in results only: the durability of the writes is unknown.
	LossUnknown = "unknown"
)

// WorkloadLedger is the workload of drills only: inserts, increments and reads that the ledger can all tell apart.
const WorkloadLedger = "ledger"

// WorkloadTransactions is the other workload of drills only: transactions whose isolation is judged.
const WorkloadTransactions = "transactions"

// OfDrills reports whether a workload is one of drills only, which loads its data itself.
func OfDrills(workload string) bool {
	return workload == WorkloadLedger || workload == WorkloadTransactions
}

const (
	maxRounds = 10_000
	maxFaults = 100
)

// ReadDrill reads a drill in YAML, as strictly as [ReadRun].
func ReadDrill(r io.Reader) (Drill, error) { return ReadStrict[Drill](r, "drill") }

// Complete fills in the defaults and checks the result; see [Run.Complete].
func (s *Drill) Complete() error { return complete(s, &s.Run.Workload) }

// Defaults fills in missing values.
func (s *Drill) Defaults() {
	def(&s.Name, "drill")
	def(&s.Repeat, 1)
	s.jitterDefault()
	def(&s.Recovery, Duration(2*time.Minute)) // time for a member that copies all data again
	if s.Lab != nil {
		l := *s.Lab // the caller may use it again
		def(&l.Name, drillLabName(s.Name))
		l.Defaults()
		s.Lab = &l
		def(&s.Run.Target, LabTarget(l.Name))
	}
	if InKubernetes(s.Run.Target) {
		def(&s.Platform, s.Run.Target)
	}
	if s.Run.Workload.Name == "" {
		s.Run.Workload.Name = WorkloadLedger // all of its writes can be told apart
	}
	if OfDrills(s.Run.Workload.Name) {
		s.Run.LoadPhase.Skip = true // the drill writes its documents
	}
	if s.Run.Workload.Name == WorkloadTransactions {
		def(&s.Run.Durability.ReadConcern, "snapshot")
		def(&s.Run.Durability.W, "majority")
	}
	s.readDefaults()
	s.loadDefaults()
	s.Run.Defaults()
	length := s.Run.Load.measured()
	s.Faults = append([]Fault(nil), s.Faults...)
	for i := range s.Faults {
		f := &s.Faults[i]
		if f.Exec != nil {
			def(&f.Action.Name, execAction)
			c := *f.Exec // the caller may use it again
			def(&c.Timeout, Duration(defaultCommandFor))
			f.Exec = &c
		}
		if f.At == 0 && f.AtWorkers == 0 {
			f.At = min(Duration(20*time.Second), length/4) // the normal rate before it must be known
		}
	}
}

// judgedShare is the default share of reads in a drill that judges reads.
const judgedShare = 0.4

// readDefaults copies the keys about reads between reads and run.durability. A drill of the workload ledger with such
// keys has a larger share of reads.
func (s *Drill) readDefaults() {
	d := &s.Run.Durability
	r := Reads{}
	if s.Reads != nil {
		r = *s.Reads
	}
	def(&d.ReadConcern, r.Concern)
	def(&d.ReadPreference, r.Preference)
	d.Causal = d.Causal || r.Causal
	given := s.Reads != nil || d.ReadConcern != "" || d.ReadPreference != "" || d.Causal
	if !given || s.Run.Workload.Name != WorkloadLedger {
		return
	}
	r.Concern, r.Preference, r.Causal = d.ReadConcern, d.ReadPreference, d.Causal
	def(&r.Share, judgedShare)
	s.Reads = &r
}

// checkReads checks the share of reads. The other keys are checked in run.durability.
func (s *Drill) checkReads() error {
	switch {
	case s.Reads == nil:
		return nil
	case s.Run.Workload.Name != WorkloadLedger:
		return fmt.Errorf("reads: a drill judges the reads of the workload ledger only, and this drill has %s. Remove the workload, "+
			"or set the reads in run.durability", s.Run.Workload.Name)
	case s.Reads.Share < 0 || s.Reads.Share > 0.9:
		return errors.New("reads.share: the share must be between 0 and 0.9, because judging reads needs writes")
	}
	return nil
}

func drillLabName(drill string) string {
	name := labNameOf(drill)
	name = "drill" + strings.TrimPrefix(name, "study")
	return name[:min(len(name), 32)]
}

// loadDefaults makes a load that shows outages: an open loop with a short timeout and enough workers for operations
// that hang.
func (s *Drill) loadDefaults() {
	l := &s.Run.Load
	if len(l.Stages) == 0 && l.Pace == 0 {
		def(&l.Rate, 500)
	}
	if l.Open() {
		def(&l.Workers, 64)
	}
	def(&l.Timeout, Duration(2*time.Second)) // a longer hang counts as a failure
	def(&s.Run.Workload.Records, 10_000)     // the ledger writes its own documents; more would only take time to load
}

func (l *Load) measured() Duration {
	if l.Duration > 0 {
		return l.Duration
	}
	var sum Duration
	for _, s := range l.Stages {
		sum += s.Duration
	}
	return sum
}

// Measured is the measured time of each round.
func (s *Drill) Measured() time.Duration { return s.Run.Load.measured().Std() }

// Moment is the time of a fault since the begin of the measured time. ok is false if the stages never reach its number
// of workers.
func (s *Drill) Moment(f Fault) (at time.Duration, ok bool) {
	if f.AtWorkers == 0 {
		return f.At.Std(), true
	}
	return s.Run.Load.reaches(f.AtWorkers)
}

// reaches is the time at which the stages reach a number of workers.
func (l *Load) reaches(workers Count) (time.Duration, bool) {
	have, at := l.Workers, time.Duration(0)
	if have >= workers {
		return 0, true
	}
	for _, s := range l.Stages {
		if s.Workers >= workers {
			if s.Step || s.Workers == have {
				return at, true
			}
			share := float64(workers-have) / float64(s.Workers-have)
			return at + time.Duration(share*float64(s.Duration)), true
		}
		have = s.Workers
		at += s.Duration.Std()
	}
	return 0, false
}

// Validate checks a drill with its defaults, as far as that is possible without the target; see [Drill.Complete].
func (s *Drill) Validate() error {
	errs := []error{
		plainName("name", s.Name), directory("out", s.Out),
		indented("run", s.Run.Validate()),
		s.checkTarget(), s.checkRun(), s.checkFaults(),
		between("repeat", float64(s.Repeat), 1, maxRounds),
		notNegative("recovery", s.Recovery),
		s.checkReads(), s.checkJitter(),
	}
	if s.Lab != nil {
		errs = append(errs, indented("lab", s.Lab.Validate()), s.Lab.loadable())
		if s.Lab.InKubernetes() {
			errs = append(errs, errors.New("lab.kubernetes: a drill does not start such a lab. Start it with plimsoll lab up, and set "+
				"the target k8s:NAMESPACE/NAME"))
		}
	}
	if s.Expect != nil {
		errs = append(errs, indented("expect", s.Expect.validate()))
	}
	return errors.Join(errs...)
}

func (s *Drill) checkTarget() error {
	_, lab := LabOf(s.Run.Target)
	switch {
	case s.Lab != nil && s.Run.Target != LabTarget(s.Lab.Name):
		return fmt.Errorf("run.target: the drill starts the lab %s and loads it. Remove the target, or remove lab", s.Lab.Name)
	case strings.HasPrefix(s.Run.Target, "http://"), strings.HasPrefix(s.Run.Target, "https://"):
		return errors.New("run.target: a drill breaks a MongoDB and reads it back, and a REST service supports neither. Make the MongoDB or " +
			"the lab the target, and set run.via: rest")
	case s.Fresh && s.Lab == nil:
		return errors.New("fresh: it needs a lab that the drill starts. Add lab")
	case lab && s.commands():
		return errors.New("platform and exec are for targets that are not labs, because a lab injects its faults itself. Remove them, or " +
			"use the address of the deployment as the target")
	case s.External && len(s.Faults) > 0:
		return errors.New("external and faults exclude each other. Either you inject the fault, or the drill does")
	case !s.External && len(s.Faults) == 0 && s.Run.Workload.Name != WorkloadTransactions:
		return errors.New("faults: there is none. Add one (--fault kill:primary), or inject it yourself (--external)")
	}
	return nil
}

// commands reports whether commands of the user break the target.
func (s *Drill) commands() bool {
	return s.Platform != "" || slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Exec != nil })
}

func (s *Drill) checkRun() error {
	var errs []error
	if s.Run.StoragePolicy != "" {
		errs = append(errs, errors.New("run.storage_policy: only a study applies storage policies. Remove it"))
	}
	if s.Run.Out != "" {
		errs = append(errs, errors.New("run.out: the records of the rounds are below the directory of the drill. Set out instead"))
	}
	if s.Run.LoadPhase.Only {
		errs = append(errs, errors.New("run.load_phase.only: a drill needs a load. Remove it"))
	}
	if s.Run.Load.Duration == 0 && s.Run.Load.Operations > 0 {
		errs = append(errs, errors.New("run.load.operations: faults need times, so set run.load.duration instead"))
	}
	return errors.Join(errs...)
}

func (s *Drill) checkFaults() error {
	if len(s.Faults) > maxFaults {
		return fmt.Errorf("faults: %d are more than %d", len(s.Faults), maxFaults)
	}
	var errs []error
	length := s.Measured()
	for i, f := range s.Faults {
		key := fmt.Sprintf("faults[%d]", i)
		if f.Exec != nil {
			errs = append(errs, f.checkExec(key))
		} else if f.Action.Name == "" {
			errs = append(errs, fmt.Errorf("%s.fault: %q is not of the form ACTION:PLACE, such as kill:primary", key, f.Action))
		}
		errs = append(errs, notNegative(key+".at", f.At), notNegative(key+".for", f.For), notNegative(key+".delay", f.Delay),
			oneOf(key+".direction", f.Direction, "both", "in", "out"),
			between(key+".probability", float64(f.Probability), 0, 1), between(key+".keep", float64(f.Keep), 0, 1))
		at, reached := s.Moment(f)
		switch {
		case f.At > 0 && f.AtWorkers > 0:
			errs = append(errs, fmt.Errorf("%s: at and at_workers exclude each other", key))
		case !reached:
			errs = append(errs, fmt.Errorf("%s.at_workers: the stages never reach %d workers", key, f.AtWorkers))
		case length > 0 && at >= length:
			errs = append(errs, fmt.Errorf("%s.at: %v is not within the measured time (%v)", key, at, length))
		case length > 0 && at+f.For.Std() > length:
			errs = append(errs, fmt.Errorf("%s.for: the fault would be reverted %v after the measured time. Measure longer, or remove for to revert it at the "+
				"end", key, at+f.For.Std()-length))
		case f.Stay && f.For > 0:
			errs = append(errs, fmt.Errorf("%s: stay and for exclude each other", key))
		}
	}
	return errors.Join(errs...)
}

func (f Fault) checkExec(key string) error {
	if f.Action.Name != execAction {
		return fmt.Errorf("%s.fault: %q names an action, and exec has the commands. Write exec, or exec:MEMBER", key, f.Action)
	}
	c := *f.Exec
	if err := c.complete(); err != nil {
		return fmt.Errorf("%s.exec.%w", key, err)
	}
	return nil
}

func (e *Expect) validate() error {
	errs := []error{
		oneOf("loss", e.Loss, LossNone, LossWindow, LossAny),
		notNegative("loss_window", e.LossWindow), notNegative("outage", e.Outage), notNegative("recovery", e.Recovery),
	}
	if e.LossWindow > 0 && e.Loss != LossWindow {
		errs = append(errs, errors.New("loss_window: it needs loss: window. Set both, or remove it"))
	}
	return errors.Join(errs...)
}
