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
	// Name is how Plimsoll calls it: the folder in examples/ and the page in docs/ have the same name.
	Name string `yaml:"name"`
	// Title, Publisher and Dated are as the document gives them; Dated is empty if it gives no date.
	Title     string `yaml:"title"`
	Publisher string `yaml:"publisher"`
	Dated     string `yaml:"dated"`
	// About says in a sentence or two what was measured on what.
	About string `yaml:"about"`
	// Units has the unit of every metric: ops/s, ms, s, MB/s, or nothing for a plain number.
	Units map[string]string `yaml:"units"`
	// Mixes are the shares of the operations of each workload, which Little's law needs.
	Mixes map[string]map[string]float64 `yaml:"mixes"`
	// Items are all numbered figures and tables, and what stands in them.
	Items []Item `yaml:"items"`
	// Baselines are configurations that several sweeps refer to.
	Baselines []Baseline `yaml:"baselines"`
	// Sweeps are the comparisons: one factor, its levels, and what was stated of each.
	Sweeps []*Sweep `yaml:"sweeps"`
	// Facts are single figures: settings, hardware, rules of thumb.
	Facts []Fact `yaml:"facts"`
	// Settings are the rows of tables that say how something was set, and have no result.
	Settings []Setting `yaml:"settings"`
	// Claims are percentages and multipliers that the document computes out of its own figures.
	Claims []Claim `yaml:"claims"`
	// Advice is what the document recommends, and which of its sweeps that rests on.
	Advice []Advice `yaml:"advice"`
	// Contradictions are the places where the document does not agree with itself.
	Contradictions []Contradiction `yaml:"contradictions"`
}

// Item is a numbered figure or table, or a list or output that could have had a number.
type Item struct {
	// Item is its name: "figure 2", "table 5", "output ext4".
	Item string `yaml:"item"`
	// Caption is the document's own, or says what it is where it has none; a wrong one is a [Contradiction].
	Caption string `yaml:"caption"`
	// Holds says where its values are: "text" (some are stated in sentences, the others only drawn), "table" (all stand
	// in it), "output", "picture" (values not stated), "words" (a table without measurements), "none" (a diagram or a
	// screen without them).
	Holds string `yaml:"holds"`
}

// Place is where something stands in a document.
type Place struct {
	// Section is the heading, Item the figure or table if any.
	Section string `yaml:"section"`
	Item    string `yaml:"item"`
	// How is "text" (a sentence), "table" or "output" (printed by a program).
	How string `yaml:"how"`
}

// String is the place for people: "figure 6, text: Evaluate the Impact …".
func (p Place) String() string {
	return strings.TrimPrefix(p.Item+", "+p.How, ", ") + ": " + p.Section
}

// over fills what p leaves open from the place around it.
func (p Place) over(around Place) Place {
	return Place{cmp.Or(p.Section, around.Section), cmp.Or(p.Item, around.Item), cmp.Or(p.How, around.How)}
}

// Baseline is a configuration with its results that several sweeps have as a level.
type Baseline struct {
	ID string `yaml:"id"`
	// Workload is a name of [Source.Mixes].
	Workload string `yaml:"workload"`
	// Workers is how many threads asked at the same time, all clients together.
	Workers int              `yaml:"workers"`
	Values  map[string]Value `yaml:"values"`
	Place   `yaml:",inline"`
}

// Fact is one stated figure that belongs to no sweep.
type Fact struct {
	ID    string `yaml:"id"`
	Says  string `yaml:"says"`
	Value Value  `yaml:"value"`
	Unit  string `yaml:"unit"`
	Place `yaml:",inline"`
}

// Setting is a row of a table that says how something was set.
type Setting struct {
	Says string `yaml:"says"`
	// Value is as the document has it, with its unit.
	Value string `yaml:"value"`
	// Path is the key of a study that means the same, "" if none does; Here says then what stands for it where the
	// document is repeated.
	Path  string `yaml:"path"`
	Here  string `yaml:"here"`
	Place `yaml:",inline"`
}

// Advice is a recommendation, in short.
type Advice struct {
	Says string `yaml:"says"`
	// RestsOn are the IDs of the sweeps that the document can have taken it from, or SWEEP/LEVEL where it is about one
	// level against the baseline; none if it measured nothing of the kind.
	RestsOn []string `yaml:"rests_on"`
	// But says where those sweeps do not carry it, or what the advice leaves out.
	But   string `yaml:"but"`
	Place `yaml:",inline"`
}

// Contradiction is a place where a document does not agree with itself, or says of figures what they do not say.
type Contradiction struct {
	ID string `yaml:"id"`
	// Kind is "number" (does not follow from the figures beside it; tests recompute it), "unit", "caption", or
	// "statement" (two sentences, or a sentence and a figure).
	Kind string `yaml:"kind"`
	// Figures are the paths of the figures that it concerns, see [Source.Value].
	Figures []string `yaml:"figures"`
	// Says are the statements that do not fit together.
	Says []Statement `yaml:"says"`
	// Why explains it, and Use says what a reader can still rely on.
	Why string `yaml:"why"`
	Use string `yaml:"use"`
}

// Statement is what stands at a place, in short.
type Statement struct {
	Text  string `yaml:"text"`
	Place `yaml:",inline"`
}

// Sweep finds one by its ID, nil if there is none.
func (s *Source) Sweep(id string) *Sweep {
	if i := slices.IndexFunc(s.Sweeps, func(sweep *Sweep) bool { return sweep.ID == id }); i >= 0 {
		return s.Sweeps[i]
	}
	return nil
}

// Figure is the sweeps of a figure, table or output: by the ID of a sweep, or by the item that the sweep comes from,
// "figure 2" or "figure-2".
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

// Value finds a figure by its path: "figure-6/8C+32GB/throughput" in a sweep, "baseline-a/throughput" in a baseline,
// or the ID of a fact.
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

// Doubts are the contradictions that concern the figure at a path; a page that shows it should show them too.
func (s *Source) Doubts(path string) []*Contradiction {
	var found []*Contradiction
	for i := range s.Contradictions {
		if slices.Contains(s.Contradictions[i].Figures, path) {
			found = append(found, &s.Contradictions[i])
		}
	}
	return found
}

// complete hands places, units and the values of baselines down to where they are asked for, and refuses what does
// not fit together.
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

// unique refuses an ID that is there twice: a path would mean two figures.
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

// fill gives values the unit of their metric and the place around them.
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
