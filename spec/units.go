package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// Duration is a length of time that is written like "60s", "1h30m" or "500ms".
type Duration time.Duration

// Count is a number of things that may be written with a multiplier: "100k", "1M", "2G" or "1e6".
type Count int64

// Rate is a number per second that may be written like a [Count], also with "/s" behind it.
type Rate float64

// Size is a number of bytes that is written with a unit: "4GiB" (1024³) or "10MB" (1000²).
type Size int64

// ParseDuration reads a time with its unit (ns, us, ms, s, m, h, d) or several, as in "1h30m".
func ParseDuration(text string) (Duration, error) {
	s := strings.TrimSpace(text)
	if s == "0" {
		return 0, nil
	}
	var total float64
	for rest := s; ; {
		number, unit, next := cutNumber(rest)
		factor, err := timeUnit(text, number, unit)
		if err != nil {
			return 0, err
		}
		x, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a time: write it like 60s, 5m or 1h30m", text)
		}
		if total += x * float64(factor); total >= math.MaxInt64 {
			return 0, fmt.Errorf("%q is too long for a time: the longest is 292 years", text)
		}
		if next == "" {
			return Duration(math.Round(total)), nil
		}
		rest = next
	}
}

func timeUnit(text, number, unit string) (time.Duration, error) {
	units := map[string]time.Duration{
		"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "ms": time.Millisecond,
		"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	}
	if f, ok := units[unit]; ok && number != "" {
		return f, nil
	}
	if number == "" {
		return 0, fmt.Errorf("%q is not a time: write it like 60s, 5m or 1h30m", text)
	}
	if unit == "" {
		return 0, fmt.Errorf("the time %q needs a unit, did you mean %ss?", text, number)
	}
	return 0, fmt.Errorf("%q is not a unit of time in %q%s (known: ns, us, ms, s, m, h, d)", unit, text,
		suggest(unit, map[string]string{"second": "s", "minute": "m", "hour": "h", "day": "d", "millisecond": "ms",
			"microsecond": "us", "nanosecond": "ns", "sec": "s", "min": "m", "hr": "h", "msec": "ms", "usec": "us"}))
}

// suggest names the short form of a unit that somebody wrote out, or almost wrote.
func suggest(word string, names map[string]string) string {
	var known []string
	for _, short := range names {
		known = append(known, short)
	}
	lower := strings.ToLower(strings.TrimSuffix(word, "s"))
	if short, ok := names[lower]; ok {
		return ", did you mean " + short + "?"
	}
	return nearest.DidYouMean(word, known)
}

// cutNumber splits a text into the number in front, the letters that follow and what comes after them.
func cutNumber(s string) (number, unit, rest string) {
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if i < 0 {
		return s, "", ""
	}
	number, s = s[:i], s[i:]
	if j := strings.IndexAny(s, "0123456789."); j >= 0 {
		return number, s[:j], s[j:]
	}
	return number, s, ""
}

// String writes the shortest form, without parts that are zero: "1m", not "1m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Std returns the duration as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// Roughly rounds a time to the precision of an estimate: minutes from an hour on, seconds from a minute on.
func (d Duration) Roughly() Duration {
	switch std := d.Std(); {
	case std >= time.Hour:
		return Duration(std.Round(time.Minute))
	case std >= time.Minute:
		return Duration(std.Round(time.Second))
	default:
		return Duration(std.Round(100 * time.Millisecond))
	}
}

// MarshalText writes the form that [ParseDuration] reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the form of [ParseDuration].
func (d *Duration) UnmarshalText(b []byte) (err error) {
	*d, err = ParseDuration(string(b))
	return err
}

// MarshalYAML writes the form that [ParseDuration] reads.
func (d Duration) MarshalYAML() (any, error) { return d.String(), nil }

// UnmarshalYAML reads the form of [ParseDuration].
func (d *Duration) UnmarshalYAML(n *yaml.Node) error { return scalar(n, d, ParseDuration) }

// ParseCount reads a whole number, with k, M or G (thousands, not 1024) or an exponent.
func ParseCount(text string) (Count, error) {
	x, err := multiplied(text)
	switch {
	case err != nil:
		return 0, err
	case x != math.Trunc(x):
		return 0, fmt.Errorf("%q is not a whole number", text)
	case math.Abs(x) > 1<<53:
		return 0, fmt.Errorf("%q is too large for a number of things: the limit is 9e15", text)
	}
	return Count(x), nil
}

// ParseRate reads a number per second; "/s" behind it is optional.
func ParseRate(text string) (Rate, error) {
	x, err := multiplied(strings.TrimSuffix(strings.TrimSpace(text), "/s"))
	if err != nil {
		return 0, err
	}
	return Rate(x), nil
}

// multiplied reads a number with a decimal multiplier.
func multiplied(text string) (float64, error) {
	s := strings.TrimSpace(text)
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	suffix := s[len(digits):]
	factor, ok := map[string]float64{"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}[suffix]
	x, err := strconv.ParseFloat(strings.ReplaceAll(digits, "_", ""), 64)
	switch {
	case err != nil || math.IsInf(x, 0) || strings.ContainsAny(digits, "xXpPnN"):
		return 0, fmt.Errorf("%q is not a number: write it like 100000, 100k, 1M or 1e6", text)
	case !ok:
		return 0, fmt.Errorf("%q is not a multiplier in %q%s (known: k = 1000, M = 1000k, G = 1000M)", suffix, text,
			suggest(suffix, map[string]string{"m": "M", "g": "G", "million": "M", "thousand": "k", "b": "G", "billion": "G", "mio": "M"}))
	}
	return x * factor, nil
}

// String writes the number with the largest multiplier that keeps it exact.
func (c Count) String() string {
	for _, m := range []struct {
		n    Count
		unit string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if c != 0 && c%m.n == 0 {
			return strconv.FormatInt(int64(c/m.n), 10) + m.unit
		}
	}
	return strconv.FormatInt(int64(c), 10)
}

// UnmarshalJSON reads a number or a text in the form of [ParseCount].
func (c *Count) UnmarshalJSON(b []byte) error { return unquoted(b, c, ParseCount) }

// UnmarshalYAML reads the form of [ParseCount].
func (c *Count) UnmarshalYAML(n *yaml.Node) error { return scalar(n, c, ParseCount) }

// UnmarshalJSON reads a number or a text in the form of [ParseRate].
func (r *Rate) UnmarshalJSON(b []byte) error { return unquoted(b, r, ParseRate) }

// UnmarshalYAML reads the form of [ParseRate].
func (r *Rate) UnmarshalYAML(n *yaml.Node) error { return scalar(n, r, ParseRate) }

// ParseSize reads a number of bytes with its unit.
func ParseSize(text string) (Size, error) {
	units := map[string]float64{"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
	number, unit, rest := cutNumber(strings.TrimSpace(text))
	unit = strings.TrimSpace(unit)
	x, err := strconv.ParseFloat(number, 64)
	factor, ok := units[unit]
	switch {
	case err != nil || rest != "":
		return 0, fmt.Errorf("%q is not a size: write it like 4GiB or 512MB", text)
	case !ok:
		return 0, fmt.Errorf("%q is not a unit of size in %q%s (known: B, KiB, MiB, GiB, TiB and kB, MB, GB, TB)", unit, text,
			suggest(unit, map[string]string{"k": "KiB", "kib": "KiB", "m": "MiB", "mb": "MB", "mib": "MiB", "g": "GiB",
				"gb": "GB", "gib": "GiB", "t": "TiB", "tib": "TiB", "tb": "TB", "byte": "B"}))
	case x*factor > math.MaxInt64/2:
		return 0, fmt.Errorf("%q is too large for a size", text)
	case x*factor != math.Trunc(x*factor):
		return 0, fmt.Errorf("%q is not a whole number of bytes", text)
	}
	return Size(x * factor), nil
}

// String writes the size with the largest binary unit that keeps it exact.
func (s Size) String() string {
	for _, m := range []struct {
		n    Size
		unit string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if s != 0 && s%m.n == 0 {
			return strconv.FormatInt(int64(s/m.n), 10) + m.unit
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// MarshalText writes the form that [ParseSize] reads.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the form of [ParseSize].
func (s *Size) UnmarshalText(b []byte) (err error) {
	*s, err = ParseSize(string(b))
	return err
}

// MarshalYAML writes the form that [ParseSize] reads.
func (s Size) MarshalYAML() (any, error) { return s.String(), nil }

// UnmarshalYAML reads the form of [ParseSize].
func (s *Size) UnmarshalYAML(n *yaml.Node) error { return scalar(n, s, ParseSize) }

// scalar reads a YAML value that must be a single word.
func scalar[T any](n *yaml.Node, to *T, parse func(string) (T, error)) error {
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: a single value is needed here", n.Line)
	}
	v, err := parse(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	*to = v
	return nil
}

// unquoted reads a JSON number or text.
func unquoted[T any](b []byte, to *T, parse func(string) (T, error)) error {
	s := string(b)
	if strings.HasPrefix(s, `"`) {
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
	} else if s == "null" {
		return errors.New("a number is needed here, not null")
	}
	v, err := parse(s)
	if err != nil {
		return err
	}
	*to = v
	return nil
}
