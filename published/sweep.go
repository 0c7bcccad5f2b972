package published

import (
	"cmp"
	"strings"
	"unicode"
)

// Sweep is one factor, its levels, and what the document states of each.
type Sweep struct {
	// ID is the item with a dash, "figure-2"; where several sweeps stand in one item, something is added.
	ID string `yaml:"id"`
	// Factor is what is varied, and the name of the factor in a study that repeats it. Path is the key of a study that
	// varies the same, if a single one does.
	Factor string `yaml:"factor"`
	Path   string `yaml:"path"`
	// Workload is a name of [Source.Mixes], or empty.
	Workload string `yaml:"workload"`
	// Workers is how many threads asked at the same time, 0 if that is not stated. A level may have its own.
	Workers int `yaml:"workers"`
	// Metrics are what the document shows of every level, stated or drawn.
	Metrics []string `yaml:"metrics"`
	// Baseline is the name of the level that the others are compared with.
	Baseline string `yaml:"baseline"`
	// Levels are in the document's order.
	Levels []Level `yaml:"levels"`
	// More says which levels the picture has beyond those in Levels, whose values are not stated.
	More string `yaml:"more"`
	// Trends are what the words say of values that are not stated.
	Trends []Trend `yaml:"trends"`
	Place  `yaml:",inline"`
}

// Level is one value of a factor.
type Level struct {
	// Name is the document's own. A study that repeats the sweep gives its levels the same names but for signs ("w1 and
	// j0" for "w=1 and j=0"), whatever their values are at its own scale, so that both can be set side by side.
	Name string `yaml:"name"`
	// Workers is the number of threads at this level.
	Workers int `yaml:"workers"`
	// Sets are the document's settings of the level, as written.
	Sets map[string]string `yaml:"sets"`
	// As names the baseline that this level is.
	As string `yaml:"as"`
	// Values are what is stated, by metric. What is absent is only drawn.
	Values map[string]Value `yaml:"values"`
	Place  `yaml:",inline"`
}

// Trend is a direction that the document states in words.
type Trend struct {
	Metric string `yaml:"metric"`
	// Goes is "rises", "falls", "steady" or "unclear".
	Goes string `yaml:"goes"`
	// From and To are levels, or what the document calls them.
	From string `yaml:"from"`
	To   string `yaml:"to"`
	// Words is what is said, as it is written there. Note is what has to be known of it.
	Words string `yaml:"words"`
	Note  string `yaml:"note"`
}

// take gives the level what is stated of the baseline, with the place where it stands.
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

// Level finds a level by its name, nil if there is none. Upper case, spaces and signs do not matter.
func (s *Sweep) Level(name string) *Level {
	for i := range s.Levels {
		if plain(s.Levels[i].Name) == plain(name) {
			return &s.Levels[i]
		}
	}
	return nil
}

// plain leaves letters, digits and points: names in a study may have neither comma nor equals sign.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// Within says whether something that an advice rests on is the sweep, or one of its levels: "volumes" or
// "volumes/ext4".
func (s *Sweep) Within(restsOn string) bool {
	id, level, one := strings.Cut(restsOn, "/")
	return id == s.ID && (!one || s.Level(level) != nil)
}

// Value is what is stated of a level, and whether it is stated at all.
func (s *Sweep) Value(level, metric string) (Value, bool) {
	l := s.Level(level)
	if l == nil {
		return Value{}, false
	}
	v, stated := l.Values[metric]
	return v, stated
}

// Ratio is a level's value divided by that of the document's own baseline, and whether both are stated.
func (s *Sweep) Ratio(level, metric string) (float64, bool) {
	v, stated := s.Value(level, metric)
	base, baseStated := s.Value(s.Baseline, metric)
	if !stated || !baseStated || base.Number == 0 {
		return 0, false
	}
	return v.Number / base.Number, true
}

// Stated is what a document states about a level and a metric, relative to its own baseline.
type Stated struct {
	// Ratio is nil if it does not follow from the document's figures.
	Ratio *float64
	// Drawn means that the document only has a picture of the value.
	Drawn bool
	// As is the document's text, for people; Bound is "about", "below", "above", "up to" or "".
	As, Bound, Place string
}

// Stated returns what the document states about a level.
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
