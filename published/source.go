package published

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Source is one document.
type Source struct {
	Name      string                        `yaml:"name"` // also of its folder in examples/ and its page in docs/
	Title     string                        `yaml:"title"`
	Publisher string                        `yaml:"publisher"`
	Dated     string                        `yaml:"dated"`     // empty without a date
	About     string                        `yaml:"about"`     // the measurement in one or two sentences
	Units     map[string]string             `yaml:"units"`     // by metric: ops/s, ms, s, MB/s, or empty for a plain number
	Mixes     map[string]map[string]float64 `yaml:"mixes"`     // shares of the operations of each workload
	Items     []Item                        `yaml:"items"`     // all numbered figures and tables
	Baselines []Baseline                    `yaml:"baselines"` // of several sweeps
	Sweeps    []*Sweep                      `yaml:"sweeps"`
	Facts     []Fact                        `yaml:"facts"`    // single figures: settings, hardware, rules of thumb
	Settings  []Setting                     `yaml:"settings"` // rows of tables without results
	Claims    []Claim                       `yaml:"claims"`
	Advice    []Advice                      `yaml:"advice"`

	Contradictions []Contradiction `yaml:"contradictions"`
}

// Item is a figure, table, list or output of a document.
type Item struct {
	Item    string `yaml:"item"`    // its name: "figure 2", "table 5", "output ext4"
	Caption string `yaml:"caption"` // of the document, or else a description; a wrong one is a [Contradiction]
	// Holds is the place of its values: "text" (some in sentences, the others only drawn), "table", "output", "picture"
	// (values not stated), "words" (a table without measurements), "none" (a diagram or screen without values).
	Holds string `yaml:"holds"`
}

// Place is a place in a document.
type Place struct {
	Section string `yaml:"section"` // the heading
	Item    string `yaml:"item"`    // the figure or table, if any
	How     string `yaml:"how"`     // "text" (a sentence), "table" or "output" (printed by a program)
}

// String is the place for people: "figure 6, text: Evaluate the Impact …".
func (p Place) String() string {
	return strings.TrimPrefix(p.Item+", "+p.How, ", ") + ": " + p.Section
}

// over completes p from the place around it.
func (p Place) over(around Place) Place {
	return Place{cmp.Or(p.Section, around.Section), cmp.Or(p.Item, around.Item), cmp.Or(p.How, around.How)}
}

// Baseline is a configuration with its results that several sweeps have as a level.
type Baseline struct {
	ID       string           `yaml:"id"`
	Workload string           `yaml:"workload"` // a name of [Source.Mixes]
	Workers  int              `yaml:"workers"`  // concurrent threads of all clients
	Values   map[string]Value `yaml:"values"`
	Place    `yaml:",inline"`
}

// Fact is one stated figure without a sweep.
type Fact struct {
	ID    string `yaml:"id"`
	Says  string `yaml:"says"`
	Value Value  `yaml:"value"`
	Unit  string `yaml:"unit"`
	Place `yaml:",inline"`
}

// Setting is a row of a table of settings.
type Setting struct {
	Says  string `yaml:"says"`
	Value string `yaml:"value"` // as in the document, with its unit
	Path  string `yaml:"path"`  // key of a study with the same meaning, if there is one
	Here  string `yaml:"here"`  // otherwise its replacement in the suite that repeats the document
	Place `yaml:",inline"`
}

// Advice is a recommendation, in short.
type Advice struct {
	Says string `yaml:"says"`
	// RestsOn are the IDs of the sweeps that may be its source, or SWEEP/LEVEL for one level against the baseline. Without
	// a measurement there are none.
	RestsOn []string `yaml:"rests_on"`
	But     string   `yaml:"but"` // what those sweeps do not support, or what is missing in the advice
	Place   `yaml:",inline"`
}

// Contradiction is a place where a document contradicts itself or its figures.
type Contradiction struct {
	ID string `yaml:"id"`
	// Kind is "number" (it does not follow from other figures; tests recompute it), "unit", "caption", or "statement" (two
	// sentences, or a sentence and a figure).
	Kind    string      `yaml:"kind"`
	Figures []string    `yaml:"figures"` // paths of the figures, see [Source.Value]
	Says    []Statement `yaml:"says"`    // the contradicting statements
	Why     string      `yaml:"why"`     // an explanation
	Use     string      `yaml:"use"`     // what a reader can rely on
}

// Statement is the text at a place, in short.
type Statement struct {
	Text  string `yaml:"text"`
	Place `yaml:",inline"`
}

// Sweep finds a sweep by its ID, nil if there is none.
func (s *Source) Sweep(id string) *Sweep {
	if i := slices.IndexFunc(s.Sweeps, func(sweep *Sweep) bool { return sweep.ID == id }); i >= 0 {
		return s.Sweeps[i]
	}
	return nil
}

// Figure returns the sweeps of a figure, table or output: by the ID of a sweep, or by its item, "figure 2" or
// "figure-2".
func (s *Source) Figure(name string) []*Sweep {
	if sweep := s.Sweep(name); sweep != nil {
		return []*Sweep{sweep}
	}
	var found []*Sweep
	for _, sweep := range s.Sweeps {
		if sweep.Item != "" && dashed(sweep.Item) == dashed(name) {
			found = append(found, sweep)
		}
	}
	return found
}

func dashed(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), " ", "-")
}

// Value finds a figure by its path: "figure-6/8C+32GB/throughput" in a sweep, "baseline-a/throughput" in a baseline, or
// the ID of a fact.
func (s *Source) Value(path string) (Value, bool) {
	parts := strings.Split(path, "/")
	if len(parts) == 1 {
		for _, f := range s.Facts {
			if f.ID == path {
				return f.Value, true
			}
		}
		return Value{}, false
	}
	for _, b := range s.Baselines {
		if b.ID == parts[0] && len(parts) == 2 {
			v, ok := b.Values[parts[1]]
			return v, ok
		}
	}
	if sweep := s.Sweep(parts[0]); sweep != nil && len(parts) == 3 {
		return sweep.Value(parts[1], parts[2])
	}
	return Value{}, false
}

// Doubts are the contradictions of the figure at a path. A page that shows the figure should show them too.
func (s *Source) Doubts(path string) []*Contradiction {
	var found []*Contradiction
	for i := range s.Contradictions {
		if slices.Contains(s.Contradictions[i].Figures, path) {
			found = append(found, &s.Contradictions[i])
		}
	}
	return found
}

// complete copies places, units and the values of baselines to where they are used, and refuses inconsistent data.
func (s *Source) complete() error {
	if s.Name == "" || s.Title == "" || s.Publisher == "" {
		return errors.New("name, title and publisher are needed")
	}
	errs := []error{s.unique()}
	for i := range s.Baselines {
		b := &s.Baselines[i]
		b.Place = b.Place.over(Place{How: "text"})
		errs = append(errs, s.fill(b.ID, b.Values, b.Place))
	}
	for i := range s.Facts {
		f := &s.Facts[i]
		f.Place = f.Place.over(Place{How: "text"})
		f.Value.Unit, f.Value.Place = f.Unit, f.Value.Place.over(f.Place)
	}
	for i := range s.Settings {
		x := &s.Settings[i]
		x.Place = x.Place.over(Place{How: "table"})
		if x.Says == "" || x.Value == "" || x.Path == "" == (x.Here == "") {
			errs = append(errs, fmt.Errorf("the setting %q needs a value, and a path or what stands for it here", x.Says))
		}
	}
	for _, sweep := range s.Sweeps {
		errs = append(errs, s.completeSweep(sweep))
	}
	for i := range s.Claims {
		s.Claims[i].Place = s.Claims[i].Place.over(Place{How: "text"})
	}
	for i := range s.Advice {
		a := &s.Advice[i]
		a.Place = a.Place.over(Place{How: "text"})
		for _, id := range a.RestsOn {
			if !slices.ContainsFunc(s.Sweeps, func(sweep *Sweep) bool { return sweep.Within(id) }) {
				errs = append(errs, fmt.Errorf("advice rests on %q, which is not a sweep", id))
			}
		}
	}
	for i := range s.Contradictions {
		for j := range s.Contradictions[i].Says {
			p := &s.Contradictions[i].Says[j].Place
			*p = p.over(Place{How: "text"})
		}
	}
	return errors.Join(errs...)
}

// unique refuses duplicate IDs, because a path would mean two figures.
func (s *Source) unique() error {
	var errs []error
	seen := map[string]bool{}
	note := func(id string) {
		if seen[id] || id == "" {
			errs = append(errs, fmt.Errorf("the ID %q is there twice, or empty", id))
		}
		seen[id] = true
	}
	for _, b := range s.Baselines {
		note(b.ID)
	}
	for _, sweep := range s.Sweeps {
		note(sweep.ID)
		for _, l := range sweep.Levels {
			note(sweep.ID + "/" + plain(l.Name))
		}
	}
	for _, f := range s.Facts {
		note("fact " + f.ID)
	}
	for _, c := range s.Contradictions {
		note("contradiction " + c.ID)
	}
	return errors.Join(errs...)
}

func (s *Source) completeSweep(sweep *Sweep) error {
	sweep.Place = sweep.Place.over(Place{How: "text"})
	var errs []error
	for i := range sweep.Levels {
		l := &sweep.Levels[i]
		l.Workers = cmp.Or(l.Workers, sweep.Workers)
		errs = append(errs, s.fill(sweep.ID+"/"+l.Name, l.Values, l.Place.over(sweep.Place)))
		if l.As == "" {
			continue
		}
		if at := slices.IndexFunc(s.Baselines, func(b Baseline) bool { return b.ID == l.As }); at >= 0 {
			l.take(&s.Baselines[at])
		} else {
			errs = append(errs, fmt.Errorf("%s/%s: there is no baseline %q", sweep.ID, l.Name, l.As))
		}
	}
	if sweep.Baseline != "" && sweep.Level(sweep.Baseline) == nil {
		errs = append(errs, fmt.Errorf("%s: its baseline %q is not one of its levels", sweep.ID, sweep.Baseline))
	}
	return errors.Join(errs...)
}

// fill sets the unit of values by their metric, and the place around them.
func (s *Source) fill(where string, values map[string]Value, around Place) error {
	for metric, v := range values {
		unit, known := s.Units[metric]
		if !known {
			return fmt.Errorf("%s: the metric %q has no unit", where, metric)
		}
		v.Unit, v.Place = unit, v.Place.over(around)
		values[metric] = v
	}
	return nil
}
