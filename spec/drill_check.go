package spec

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// What an [Expect] says of losses.
const (
	LossNone   = "none"
	LossWindow = "window"
	LossAny    = "any"
	// LossUnknown is what nobody can expect: a result says so where the durability of its writes is not known.
	LossUnknown = "unknown"
)

// WorkloadLedger is the name of the workload of drills: inserts, increments and reads, each of which the ledger can tell
// from all others. Only drills have it.
const WorkloadLedger = "ledger"

// The limits of a drill.
const (
	maxRounds = 10_000
	maxFaults = 100
)

// ReadDrill reads the specification of a drill in YAML, as strictly as [ReadRun].
func ReadDrill(r io.Reader) (Drill, error) { return readStrict[Drill](r, "drill") }

// Complete fills in the defaults and checks the result; see [Run.Complete].
func (s *Drill) Complete() error {
	s.Defaults()
	return s.Validate()
}

// Defaults fills in what was not said.
func (s *Drill) Defaults() {
	def(&s.Name, "drill")
	def(&s.Repeat, 1)
	def(&s.Recovery, Duration(2*time.Minute)) // a member that copies its data again takes its time
	if s.Lab != nil {
		l := *s.Lab // whoever gave it may use it again
		def(&l.Name, drillLabName(s.Name))
		l.Defaults()
		s.Lab = &l
		def(&s.Run.Target, LabTarget(l.Name))
	}
	if s.Run.Workload.Name == "" {
		s.Run.Workload.Name = WorkloadLedger // every one of its writes can be told apart
	}
	if s.Run.Workload.Name == WorkloadLedger {
		s.Run.LoadPhase.Skip = true // it begins with nothing
	}
	s.readDefaults()
	s.loadDefaults()
	s.Run.Defaults()
	length := s.Run.Load.measured()
	s.Faults = append([]Fault(nil), s.Faults...)
	for i := range s.Faults {
		f := &s.Faults[i]
		if f.At == 0 && f.AtWorkers == 0 {
			f.At = min(Duration(20*time.Second), length/4) // what was normal before has to be known
		}
	}
}

// judgedShare is the share of reads in a drill that is about reads.
const judgedShare = 0.4

// readDefaults has the keys about reads say the same in both places. A drill of the workload ledger that says how it reads
// reads more than others do.
func (s *Drill) readDefaults() {
	d := &s.Run.Durability
	r := Reads{}
	if s.Reads != nil {
		r = *s.Reads
	}
	def(&d.ReadConcern, r.Concern)
	def(&d.ReadPreference, r.Preference)
	d.Causal = d.Causal || r.Causal
	said := s.Reads != nil || d.ReadConcern != "" || d.ReadPreference != "" || d.Causal
	if !said || s.Run.Workload.Name != WorkloadLedger {
		return
	}
	r.Concern, r.Preference, r.Causal = d.ReadConcern, d.ReadPreference, d.Causal
	def(&r.Share, judgedShare)
	s.Reads = &r
}

// checkReads says what is wrong with the share of reads; everything else is checked as a part of run.durability.
func (s *Drill) checkReads() error {
	switch {
	case s.Reads == nil:
		return nil
	case s.Run.Workload.Name != WorkloadLedger:
		return fmt.Errorf("reads: only those of the workload ledger can be judged, and this drill has %s; leave the workload out, "+
			"or say how it reads in run.durability", s.Run.Workload.Name)
	case s.Reads.Share < 0 || s.Reads.Share > 0.9:
		return errors.New("reads.share: a share from 0 to 0.9, because what nobody writes shows nothing")
	}
	return nil
}

// drillLabName makes the name of a lab of the name of a drill.
func drillLabName(drill string) string {
	name := labNameOf(drill)
	name = "drill" + strings.TrimPrefix(name, "study")
	return name[:min(len(name), 32)]
}

// loadDefaults makes the load one that notices an outage: operations fall due whether or not others are answered, a
// call that hangs is given up soon, and there are enough workers for those that hang meanwhile.
func (s *Drill) loadDefaults() {
	l := &s.Run.Load
	if len(l.Stages) == 0 && l.Pace == 0 {
		def(&l.Rate, 500)
	}
	if l.Open() {
		def(&l.Workers, 64)
	}
	def(&l.Timeout, Duration(2*time.Second)) // what hangs longer than this is seen as failed
	def(&s.Run.Workload.Records, 10_000)     // the ledger writes its own documents; more only take time to load
}

// measured is how long the measured time is.
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

// Measured is how long the measured time of each round is.
func (s *Drill) Measured() time.Duration { return s.Run.Load.measured().Std() }

// Moment is when a fault is due, since the measured time began; ok is false if the number of virtual users that it
// waits for is never reached.
func (s *Drill) Moment(f Fault) (at time.Duration, ok bool) {
	if f.AtWorkers == 0 {
		return f.At.Std(), true
	}
	return s.Run.Load.reaches(f.AtWorkers)
}

// reaches is when the stages have brought so many workers.
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

// Validate checks what can be checked without the target. Its error has one line per mistake, each of them naming the
// key. It expects defaults to be filled in.
func (s *Drill) Validate() error {
	errs := []error{
		plainName("name", s.Name), directory("out", s.Out),
		indented("run", s.Run.Validate()),
		s.checkTarget(), s.checkRun(), s.checkFaults(),
		between("repeat", float64(s.Repeat), 1, maxRounds),
		notNegative("recovery", s.Recovery),
		s.checkReads(),
	}
	if s.Lab != nil {
		errs = append(errs, indented("lab", s.Lab.Validate()), s.Lab.loadable())
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
		return fmt.Errorf("run.target: the drill brings up the lab %s and loads that; leave the target out, or leave lab out", s.Lab.Name)
	case strings.HasPrefix(s.Run.Target, "http://"), strings.HasPrefix(s.Run.Target, "https://"):
		return errors.New("run.target: a drill reads back from MongoDB what was written, and a REST service can be neither broken nor read like one; " +
			"name the MongoDB or the lab, and put a service between (run.via: rest)")
	case s.Fresh && s.Lab == nil:
		return errors.New("fresh: only a lab that the drill itself brings up can be brought up anew; give it as lab")
	case !lab && len(s.Faults) > 0:
		return errors.New("faults: only a lab is broken by a drill; for another target say external, break it yourself, and mark the moment")
	case s.External && len(s.Faults) > 0:
		return errors.New("external and faults exclude each other: either you break the target, or the drill does")
	case !s.External && len(s.Faults) == 0:
		return errors.New("faults: a drill breaks something (--fault kill:primary), or somebody else does (--external)")
	}
	return nil
}

func (s *Drill) checkRun() error {
	var errs []error
	if s.Run.Out != "" {
		errs = append(errs, errors.New("run.out: the drill says where the records of its rounds go; give its own directory as out"))
	}
	if s.Run.LoadPhase.Only {
		errs = append(errs, errors.New("run.load_phase.only: a drill needs load"))
	}
	if s.Run.Load.Duration == 0 && s.Run.Load.Operations > 0 {
		errs = append(errs, errors.New("run.load.operations: a drill needs a duration, so that faults have their times"))
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
		if f.Strike.Action == "" || f.Strike.Target == "" {
			errs = append(errs, fmt.Errorf("%s.fault: %q is not of the form ACTION:TARGET, such as kill:primary", key, f.Strike))
		}
		errs = append(errs, notNegative(key+".at", f.At), notNegative(key+".for", f.For), notNegative(key+".delay", f.Delay),
			oneOf(key+".direction", f.Direction, "both", "in", "out"),
			between(key+".probability", float64(f.Probability), 0, 1), between(key+".keep", float64(f.Keep), 0, 1))
		at, reached := s.Moment(f)
		switch {
		case f.At > 0 && f.AtWorkers > 0:
			errs = append(errs, fmt.Errorf("%s: at and at_workers exclude each other", key))
		case !reached:
			errs = append(errs, fmt.Errorf("%s.at_workers: the stages never bring %d virtual users", key, f.AtWorkers))
		case length > 0 && at >= length:
			errs = append(errs, fmt.Errorf("%s.at: %v is not within the measured time of %v", key, at, length))
		case length > 0 && at+f.For.Std() > length:
			errs = append(errs, fmt.Errorf("%s.for: it would be healed %v after the measured time; make that longer, or leave for out to heal at its end", key, at+f.For.Std()-length))
		case f.Stay && f.For > 0:
			errs = append(errs, fmt.Errorf("%s: stay and for exclude each other", key))
		}
	}
	return errors.Join(errs...)
}

func (e *Expect) validate() error {
	errs := []error{
		oneOf("loss", e.Loss, LossNone, LossWindow, LossAny),
		notNegative("loss_window", e.LossWindow), notNegative("outage", e.Outage), notNegative("recovery", e.Recovery),
	}
	if e.LossWindow > 0 && e.Loss != LossWindow {
		errs = append(errs, errors.New("loss_window: it needs loss: window"))
	}
	return errors.Join(errs...)
}
