package workload

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// Param describes one parameter of a workload for help texts.
type Param struct {
	Name    string
	Default string
	Help    string
}

// setting is one parameter of a workload.
type setting struct {
	name, fallback, help string
	value                any // a pointer to the value
}

// javaBool is a boolean as Java reads it.
type javaBool bool

// describe returns the parameters for users.
func describe(settings []setting) []Param {
	out := make([]Param, 0, len(settings))
	for _, s := range settings {
		out = append(out, Param{Name: s.name, Default: s.fallback, Help: s.help})
	}
	return out
}

// apply sets every parameter to its value in given or to its default, and returns the unknown names in given, sorted.
func apply(settings []setting, given map[string]string) (unknown []string, err error) {
	known := make(map[string]bool, len(settings))
	for _, s := range settings {
		known[s.name] = true
		value, ok := given[s.name]
		if !ok {
			value = s.fallback
		}
		if err := s.set(value); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for name := range given {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	sort.Strings(unknown)
	return unknown, nil
}

// applyAll is [apply] with an error for unknown names.
func applyAll(settings []setting, given map[string]string) error {
	unknown, err := apply(settings, given)
	if err != nil || len(unknown) == 0 {
		return err
	}
	return unknownParam(unknown[0], describe(settings))
}

func unknownParam(name string, params []Param) error {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	hint := nearest.DidYouMean(name, names)
	if hint == "" {
		hint = "; it takes " + strings.Join(names, ", ")
	}
	return fmt.Errorf("unknown workload parameter %q%s", name, hint)
}

func unknownValue(name, value string, choices ...string) error {
	hint := nearest.DidYouMean(value, choices)
	if hint == "" {
		hint = ": it must be one of " + strings.Join(choices, ", ")
	}
	return fmt.Errorf("%s: unknown value %q%s", name, value, hint)
}

// set reads a value. Numbers have the syntax of Java's Integer.parseInt, Long.parseLong and Double.parseDouble.
func (s *setting) set(value string) (err error) {
	switch at := s.value.(type) {
	case *string:
		*at = value
	case *int:
		var n int64
		n, err = parseWhole(value, 32)
		*at = int(n)
	case *int64:
		*at, err = parseWhole(value, 64)
	case *float64:
		*at, err = parseNumber(value)
	case *javaBool:
		*at = javaBool(strings.EqualFold(value, "true"))
	case *bool:
		*at = strings.EqualFold(value, "true")
		if !*at && !strings.EqualFold(value, "false") {
			return fmt.Errorf("%q is neither true nor false", value)
		}
	}
	return err
}

func parseWhole(value string, bits int) (int64, error) {
	n, err := strconv.ParseInt(value, 10, bits)
	switch {
	case err == nil:
		return n, nil
	case strings.TrimSpace(value) != value:
		return 0, fmt.Errorf("%q is not a whole number: remove the blanks around it", value)
	case strings.Contains(err.Error(), "out of range"):
		return 0, fmt.Errorf("%s does not fit into %d bits", value, bits)
	}
	return 0, fmt.Errorf("%q is not a whole number", value)
}

// parseNumber reads what Java's Double.parseDouble accepts, except infinities and NaN: it allows blanks around the
// number and a type suffix.
func parseNumber(value string) (float64, error) {
	v := strings.TrimSpace(value)
	if n := len(v); n > 1 && strings.ContainsRune("dDfF", rune(v[n-1])) && !strings.HasPrefix(v, "0x") {
		v = v[:n-1]
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || strings.Contains(v, "_") {
		return 0, fmt.Errorf("%q is not a number", value)
	}
	return f, nil
}
