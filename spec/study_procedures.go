package spec

import (
	"errors"
	"fmt"
	"time"
)

func (p *Procedures) defaults() {
	p.unfold()
	if p.Threads != nil {
		p.Threads.Defaults()
	}
	if p.Steady != nil {
		p.Steady.Defaults()
	}
	if p.Capacity != nil {
		p.Capacity.Defaults()
	}
}

// unfold replaces baseline by copies of its threads and steady. Beside one of the two baseline stays, and
// [Study.Validate] refuses it.
func (p *Procedures) unfold() {
	if p.Baseline == nil || p.Threads != nil || p.Steady != nil {
		return
	}
	p.Threads, p.Steady = &Threads{}, &Steady{}
	if t := p.Baseline.Threads; t != nil {
		*p.Threads = *t
	}
	if s := p.Baseline.Steady; s != nil {
		*p.Steady = *s
	}
	p.Baseline = nil
}

func (p *Procedures) validate(objectives bool) error {
	var errs []error
	if p.Baseline != nil {
		errs = append(errs, errors.New("procedures.baseline: it includes threads and steady. Put their keys below baseline, and remove threads and steady"))
	}
	if p.Threads != nil {
		errs = append(errs, indented("procedures.threads", p.Threads.validate()))
	}
	if p.Steady != nil {
		errs = append(errs, indented("procedures.steady", p.Steady.validate()))
	}
	if p.Capacity != nil {
		errs = append(errs, indented("procedures.capacity", p.Capacity.validate()))
		if !objectives {
			errs = append(errs, errors.New("procedures.capacity: it needs objectives, because the capacity is the highest rate that holds them. Set objectives"))
		}
	}
	if *p == (Procedures{}) {
		errs = append(errs, errors.New("procedures: it is empty. Add baseline, threads, steady or capacity (without keys: {})"))
	}
	return errors.Join(errs...)
}

func indented(at string, err error) error {
	if err == nil {
		return nil
	}
	return indent(at, err)
}

func (t *Threads) validate() error {
	errs := []error{
		between("from", float64(t.From), 0, 1<<20), between("to", float64(t.To), 0, 1<<20),
		between("trials", float64(t.Trials), 0, maxTrials), notNegative("duration", t.Duration),
		between("gain", float64(t.Gain), 0, 1), notNegative("latency", t.Latency),
	}
	if len(t.Levels) > 0 && (t.From != 0 || t.To != 0) {
		errs = append(errs, errors.New("levels and from/to exclude each other"))
	}
	if t.From != 0 && t.To != 0 && t.To < t.From {
		errs = append(errs, fmt.Errorf("to (%v) is below from (%v)", t.To, t.From))
	}
	for i, l := range t.Levels {
		if l < 1 || l > 1<<20 || i > 0 && l <= t.Levels[i-1] {
			errs = append(errs, errors.New("levels: they must be numbers of workers from 1, in ascending order"))
			break
		}
	}
	return errors.Join(errs...)
}

func (s *Steady) validate() error {
	errs := []error{
		oneOf("by", s.By, "duration", "operations"),
		between("from", float64(s.From), 0, 1<<53), between("to", float64(s.To), 0, 1<<53),
		between("tolerance", float64(s.Tolerance), 0, 1), notNegative("cycle", s.Cycle),
		between("trials", float64(s.Trials), 0, maxTrials),
	}
	if s.From != 0 && s.To != 0 && s.To < s.From {
		errs = append(errs, fmt.Errorf("to (%v) is below from (%v)", s.To, s.From))
	}
	if s.Factor != 0 {
		errs = append(errs, between("factor", s.Factor, 1.05, 100))
	}
	if s.Cycle > 0 && s.Cycle < Duration(time.Second) {
		errs = append(errs, fmt.Errorf("cycle: %v is shorter than the seconds of a record. Set 1s or more", s.Cycle))
	}
	return errors.Join(errs...)
}
