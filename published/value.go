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
	// Written is the number as it stands in the document, "17,680", without its unit. The number of digits matters: it
	// says how exactly the figure is known.
	Written string
	// Number is what is meant.
	Number float64
	// Bound is empty, or "about", "below", "above" or "up to".
	Bound string
	// Unit is ops/s, ms, s, MB/s, … or empty for a plain number.
	Unit string
	// Note says what a reader has to know of this figure, mostly that it contradicts another.
	Note  string
	Place Place
}

var (
	bounds    = []string{"about", "below", "above", "up to"}
	valueKeys = []string{"is", "number", "note", "section", "item", "how"}
)

// UnmarshalYAML reads the figure alone ("17,680", "about 120", "below 10"), or a mapping with more about it.
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

// Between are the numbers that are written like this one when they are rounded.
func (v Value) Between() (low, high float64) {
	half := step(v.Written) / 2
	return v.Number - half, v.Number + half
}

// String is the figure as the document has it, with its unit.
func (v Value) String() string {
	return strings.TrimSpace(v.Bound + " " + v.Written + " " + v.Unit)
}
