package published

import (
	"cmp"
	"strings"
	"unicode"
)

// Sweep is one factor, its levels, and the stated figures of each level.
type Sweep struct {
	ID       string   `yaml:"id"`       // the item with a dash, "figure-2"; longer if an item has several sweeps
	Factor   string   `yaml:"factor"`   // also in a study that repeats it
	Path     string   `yaml:"path"`     // key of a study that varies the same, if there is one
	Workload string   `yaml:"workload"` // a name of [Source.Mixes], or empty
	Workers  int      `yaml:"workers"`  // concurrent threads, 0 if not stated; a level may have another number
	Metrics  []string `yaml:"metrics"`  // that the document states or draws for every level
	Baseline string   `yaml:"baseline"` // name of the level with which the others are compared
	Levels   []Level  `yaml:"levels"`   // in the document's order
	More     string   `yaml:"more"`     // levels of the picture that are not in Levels, because their values are not stated
	Trends   []Trend  `yaml:"trends"`   // of values that are not stated
	Place    `yaml:",inline"`
}

// Level is one value of a factor.
type Level struct {
	// Name is that of the document. A study that repeats the sweep has levels with the same names without signs ("w1 and
	// j0" for "w=1 and j=0"), whatever their values are, so that both can be compared.
	Name    string            `yaml:"name"`
	Workers int               `yaml:"workers"` // number of threads
	Sets    map[string]string `yaml:"sets"`    // the document's settings of the level
	As      string            `yaml:"as"`      // the baseline that this level is
	Values  map[string]Value  `yaml:"values"`  // stated values by metric; absent ones are only drawn
	Place   `yaml:",inline"`
}

// Trend is a direction that the document states in words.
type Trend struct {
	Metric string `yaml:"metric"`
	Goes   string `yaml:"goes"` // "rises", "falls", "steady" or "unclear"
	From   string `yaml:"from"` // a level, or the document's name of it
	To     string `yaml:"to"`
	Words  string `yaml:"words"` // of the document
	Note   string `yaml:"note"`  // for readers
}

// take copies the values of the baseline with their places.
func (l *Level) take(b *Baseline) {
	l.Workers = cmp.Or(l.Workers, b.Workers)
	if l.Values == nil {
		l.Values = map[string]Value{}
	}
	for metric, v := range b.Values {
		if _, own := l.Values[metric]; !own {
			l.Values[metric] = v
		}
	}
}

// Level finds a level by its name, nil if there is none. Upper case, spaces and signs are ignored.
func (s *Sweep) Level(name string) *Level {
	for i := range s.Levels {
		if plain(s.Levels[i].Name) == plain(name) {
			return &s.Levels[i]
		}
	}
	return nil
}

// plain keeps letters, digits and points, because names in a study have neither comma nor equals sign.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// Within reports whether the source of an advice is this sweep or one of its levels: "volumes" or "volumes/ext4".
func (s *Sweep) Within(restsOn string) bool {
	id, level, one := strings.Cut(restsOn, "/")
	return id == s.ID && (!one || s.Level(level) != nil)
}

// Value is the stated value of a level, and whether there is one.
func (s *Sweep) Value(level, metric string) (Value, bool) {
	l := s.Level(level)
	if l == nil {
		return Value{}, false
	}
	v, stated := l.Values[metric]
	return v, stated
}

// Ratio is a level's value divided by that of the document's baseline, and whether both are stated.
func (s *Sweep) Ratio(level, metric string) (float64, bool) {
	v, stated := s.Value(level, metric)
	base, baseStated := s.Value(s.Baseline, metric)
	if !stated || !baseStated || base.Number == 0 {
		return 0, false
	}
	return v.Number / base.Number, true
}

// Stated is a document's statement about a level and a metric, relative to its own baseline.
type Stated struct {
	Ratio *float64 // nil if it does not follow from the document's figures
	Drawn bool     // the document only has a picture of the value
	As    string   // the document's text
	Bound string   // "about", "below", "above", "up to" or ""
	Place string
}

// Stated returns the document's statement about a level.
func (s *Sweep) Stated(level, metric string) Stated {
	var x Stated
	value, stated := s.Value(level, metric)
	base, baseStated := s.Value(s.Baseline, metric)
	if ratio, ok := s.Ratio(level, metric); ok {
		x.Ratio = &ratio
	}
	switch {
	case stated && baseStated:
		x.As, x.Bound = value.String()+" of "+base.String(), cmp.Or(value.Bound, base.Bound)
	case stated:
		x.As = value.String()
	default:
		x.Drawn, x.As = true, "only drawn"
	}
	if stated {
		x.Place = value.Place.String()
	}
	return x
}
