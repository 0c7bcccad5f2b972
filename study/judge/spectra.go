package judge

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// AddSpectra adds the latency distributions of each side to the report, so that they can be drawn without the records.
// Records that cannot be read are skipped; each spectrum has its number of records.
func AddSpectra(r *record.ComparisonReport) error {
	for i := range r.Sides[:min(len(r.Sides), record.MaxSpectra)] {
		side := &r.Sides[i]
		list, err := spectraOf(side.Records)
		if err != nil {
			return fmt.Errorf("the spectra of %s: %w", side.Name, err)
		}
		side.Spectra = list
	}
	return nil
}

// pooled is a class of operations over several records.
type pooled struct {
	class string
	times [2]*measure.Histogram // in the order of spectrumTimes
	of    int
	// unscheduled is true if one record had no schedule, so response times would be of some records only.
	unscheduled bool
}

// spectrumTimes are the kinds of times that have a spectrum, as records name them.
var spectrumTimes = [2]string{"response", "service"}

// spectraOf merges the measured phases of records, class by class in the order in which they appear.
func spectraOf(dirs []string) ([]record.SideSpectrum, error) {
	var all []*pooled
	for _, dir := range dirs {
		s, err := record.RebuildSummary(dir, "measure")
		if err != nil || s == nil {
			continue // its figures are in the report, only the picture lacks it
		}
		for i := range s.Classes {
			if s.Dims.Classes[i].Part {
				continue
			}
			p := poolOf(&all, s.Dims.Classes[i].Name)
			if err := p.add(&s.Classes[i], s.Dims.Scheduled); err != nil {
				return nil, err
			}
		}
	}
	var list []record.SideSpectrum
	for _, p := range all {
		more, err := p.spectra()
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

func poolOf(all *[]*pooled, class string) *pooled {
	for _, p := range *all {
		if p.class == class {
			return p
		}
	}
	p := &pooled{class: class, times: [2]*measure.Histogram{measure.NewHistogram(), measure.NewHistogram()}}
	*all = append(*all, p)
	return p
}

func (p *pooled) add(c *measure.ClassInterval, scheduled bool) error {
	if c.Service.Count() == 0 {
		return nil
	}
	p.of++
	p.unscheduled = p.unscheduled || !scheduled
	for i, kind := range spectrumTimes {
		if err := p.times[i].Merge(*c.Histogram(kind)); err != nil {
			return err
		}
	}
	return nil
}

// spectra returns those of the kinds of times that all records have.
func (p *pooled) spectra() (list []record.SideSpectrum, err error) {
	for i, kind := range spectrumTimes {
		h := p.times[i]
		if h.Count() == 0 || kind == "response" && p.unscheduled {
			continue
		}
		s := record.SideSpectrum{Class: p.class, Time: kind, Records: p.of, N: h.Count(), Max: h.Max()}
		if s.Histogram, err = h.Encode(); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}
