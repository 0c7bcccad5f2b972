package own

import (
	"math"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// begins are the first letters of texts: a number of different ones, so that a regular expression finds a known share
// of the texts.
type begins struct {
	count rank
	size  int
}

// begins reads the keys begins and begin of a generator: how many there are, and how many letters each has. Without
// skew, all are equally often.
func (o *options) begins(s *scope) (b begins) {
	n := o.whole("begins", 1)
	b.size = int(o.whole("begin", 3))
	most := math.Pow(26, float64(min(max(b.size, 0), 12)))
	if b.size < 1 || b.size > 100 || n < 1 || float64(n) > most {
		o.fail(o.keys["begins"], "%s: there are no %d different begins of %d letters", o.name.Value, n, b.size)
		n = 1
	}
	if b.count = o.rank(n); b.count.skew == nil {
		b.count.even = o.c.even(s)
	}
	return b
}

// append appends the letters of begin n.
func (b begins) append(dst []byte, n int64) []byte {
	at := len(dst)
	for range b.size {
		dst = append(dst, byte('a'+n%26))
		n /= 26
	}
	slices.Reverse(dst[at:])
	return dst
}

// patternValue is a regular expression that finds the texts with one of their begins.
type patternValue struct {
	begins   begins
	anywhere bool
	options  string
}

func pattern(c *compiler, name, arg *yaml.Node, s *scope) (value, error) {
	o := c.read(name, arg, "begins", "begin", "anywhere", "options", "skew")
	v := &patternValue{begins: o.begins(s), anywhere: o.text("anywhere") == "true", options: o.text("options")}
	letters := []byte(v.options)
	slices.Sort(letters) // as BSON has them
	for _, b := range letters {
		if b < 'a' || b > 'z' {
			o.fail(o.keys["options"], "options of $pattern is %q: it must be letters such as i", v.options)
		}
	}
	v.options = string(letters)
	return v, o.err
}

func (v *patternValue) most() int64 { return int64(v.begins.size+len(v.options)) + 3 }

func (v *patternValue) append(dst []byte, e *env) ([]byte, byte) {
	if !v.anywhere {
		dst = append(dst, '^')
	}
	dst = append(v.begins.append(dst, v.begins.count.draw(e)), 0)
	return append(append(dst, v.options...), 0), rawbson.Regex
}
