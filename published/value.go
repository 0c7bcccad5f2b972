package published

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Value is one stated figure.
type Value struct {
	Written string // as in the document, "17,680", without its unit; the digits show its precision
	Number  float64
	Bound   string // empty, or "about", "below", "above" or "up to"
	Unit    string // ops/s, ms, s, MB/s, … or empty for a plain number
	Note    string // for readers, mostly that it contradicts another figure
	Place   Place
}

var (
	bounds    = []string{"about", "below", "above", "up to"}
	valueKeys = []string{"is", "number", "note", "section", "item", "how"}
)

// UnmarshalYAML reads a figure ("17,680", "about 120", "below 10"), or a mapping with details.
func (v *Value) UnmarshalYAML(n *yaml.Node) error {
	text := n.Value
	var long struct {
		Is     string   `yaml:"is"`
		Number *float64 `yaml:"number"`
		Note   string   `yaml:"note"`
		Place  `yaml:",inline"`
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			if key := n.Content[i]; !slices.Contains(valueKeys, key.Value) {
				return fmt.Errorf("line %d: a figure has no key %q", key.Line, key.Value)
			}
		}
		if err := n.Decode(&long); err != nil {
			return err
		}
		text = long.Is
	}
	*v = Value{Written: text, Note: long.Note, Place: long.Place}
	for _, bound := range bounds {
		if rest, found := strings.CutPrefix(text, bound+" "); found {
			v.Bound, v.Written = bound, rest
		}
	}
	number, err := strconv.ParseFloat(strings.ReplaceAll(v.Written, ",", ""), 64)
	if err != nil || math.IsInf(number, 0) || math.IsNaN(number) {
		return fmt.Errorf("line %d: %q is not a figure", n.Line, text)
	}
	v.Number = number
	if long.Number != nil {
		v.Number = *long.Number
	}
	return nil
}

// step is one unit of the last written digit: 0.01 for "0.64", 1 for "17,680".
func step(written string) float64 {
	_, decimals, found := strings.Cut(written, ".")
	if !found {
		return 1
	}
	return math.Pow10(-len(decimals))
}

// Between are the numbers that are written like this one after rounding.
func (v Value) Between() (low, high float64) {
	half := step(v.Written) / 2
	return v.Number - half, v.Number + half
}

// String is the figure as in the document, with its unit.
func (v Value) String() string {
	return strings.TrimSpace(v.Bound + " " + v.Written + " " + v.Unit)
}
