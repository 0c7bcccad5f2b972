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

// setting is one parameter of the workload type T: its description and how to set it.
type setting[T any] struct {
	name, fallback, help string
	set                  func(t *T, value string) error
}

// describe returns the parameters as users see them.
func describe[T any](settings []setting[T]) []Param {
	out := make([]Param, 0, len(settings))
	for _, s := range settings {
		out = append(out, Param{Name: s.name, Default: s.fallback, Help: s.help})
	}
	return out
}

// apply sets every parameter of t to its value in given or to its default, and returns the names in
// given that it does not know, sorted.
func apply[T any](t *T, settings []setting[T], given map[string]string) (unknown []string, err error) {
	known := make(map[string]bool, len(settings))
	for _, s := range settings {
		known[s.name] = true
		value, ok := given[s.name]
		if !ok {
			value = s.fallback
		}
		if err := s.set(t, value); err != nil {
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

// applyAll is [apply] where an unknown name is an error.
func applyAll[T any](t *T, settings []setting[T], given map[string]string) error {
	unknown, err := apply(t, settings, given)
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

// Setters for the kinds of values that parameters have. Numbers are read as Java reads them.

func setString[T any](at func(*T) *string) func(*T, string) error {
	return func(t *T, value string) error {
		*at(t) = value
		return nil
	}
}

// setInt takes what Java's Integer.parseInt takes.
func setInt[T any](at func(*T) *int) func(*T, string) error {
	return func(t *T, value string) error {
		n, err := parseWhole(value, 32)
		*at(t) = int(n)
		return err
	}
}

// setLong takes what Java's Long.parseLong takes.
func setLong[T any](at func(*T) *int64) func(*T, string) error {
	return func(t *T, value string) error {
		n, err := parseWhole(value, 64)
		*at(t) = n
		return err
	}
}

func setFloat[T any](at func(*T) *float64) func(*T, string) error {
	return func(t *T, value string) error {
		f, err := parseNumber(value)
		*at(t) = f
		return err
	}
}

// setJavaBool is Boolean.parseBoolean: "true" in any case is true, everything else is false.
func setJavaBool[T any](at func(*T) *bool) func(*T, string) error {
	return func(t *T, value string) error {
		*at(t) = strings.EqualFold(value, "true")
		return nil
	}
}

// setBool takes true and false only.
func setBool[T any](at func(*T) *bool) func(*T, string) error {
	return func(t *T, value string) error {
		switch strings.ToLower(value) {
		case "true":
			*at(t) = true
		case "false":
			*at(t) = false
		default:
			return fmt.Errorf("%q is neither true nor false", value)
		}
		return nil
	}
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

// parseNumber takes what Java's Double.parseDouble takes, but for infinities and NaN: blanks around the
// number and a type suffix are allowed.
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
