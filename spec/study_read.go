package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ReadStudy reads a study in YAML (JSON is YAML), as strictly as [ReadRun]. Defaults are not filled in, and
// nothing beyond the form is checked: see [Study.Defaults] and [Study.Validate]. Whether the paths and
// values of the levels fit a run is found out when the study is planned.
func ReadStudy(r io.Reader) (Study, error) { return ReadStrict[Study](r, "study") }

// UnmarshalYAML reads a level: its value alone, or a mapping with the keys of [Level].
func (l *Level) UnmarshalYAML(n *yaml.Node) error {
	for depth := 0; n.Kind == yaml.AliasNode; depth++ {
		if depth > maxDepth {
			return fmt.Errorf("line %d: nested too deeply", n.Line)
		}
		n = n.Alias
	}
	var budget valueReader
	switch n.Kind {
	case yaml.ScalarNode:
		value, err := budget.value(n, 0)
		*l = Level{Value: value}
		return err
	case yaml.MappingNode:
		return l.readMapping(n, &budget)
	}
	return notALevel(n)
}

// notALevel says what is wrong with a level that is neither a value nor a mapping; nil if nothing is.
func notALevel(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return fmt.Errorf("line %d: a level needs a value", n.Line)
	case n.Kind == yaml.SequenceNode:
		return fmt.Errorf("line %d: a level is a value or a mapping with value or set; a list goes below value", n.Line)
	}
	return nil
}

// keys reads a mapping of keys to values.
func (r *valueReader) keys(n *yaml.Node, what string) (map[string]any, error) {
	v, err := r.value(n, 0)
	if err != nil || v == nil {
		return nil, err
	}
	set, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("line %d: %s needs keys below it: paths of the run with their values", n.Line, what)
	}
	return set, nil
}

func (l *Level) readMapping(n *yaml.Node, values *valueReader) (err error) {
	*l = Level{}
	for i := 0; i+1 < len(n.Content) && err == nil; i += 2 {
		value := n.Content[i+1]
		switch n.Content[i].Value {
		case "name":
			l.Name, err = oneWord(value)
		case "baseline":
			if err = value.Decode(&l.Baseline); err != nil {
				err = fmt.Errorf("line %d: baseline is neither true nor false", value.Line)
			}
		case "value":
			l.Value, err = values.value(value, 0)
		case "set":
			l.Set, err = values.keys(value, "set")
		case "without":
			var all map[string]any
			if all, err = values.keys(value, "without"); err != nil || all == nil {
				continue
			}
			l.Without = map[string]map[string]any{}
			for capability, set := range all {
				keys, ok := set.(map[string]any)
				if !ok {
					return fmt.Errorf("line %d: without needs capabilities below it, and below each the keys that it sets", value.Line)
				}
				l.Without[capability] = keys
			}
		}
	}
	return err
}

func oneWord(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", fmt.Errorf("line %d: a single value is needed here", n.Line)
	}
	if n.Tag == "!!null" {
		return "", nil
	}
	return n.Value, nil
}

// valueReader turns YAML into values without a type. It counts what it makes, because aliases multiply.
type valueReader struct{ nodes int }

// value returns a bool, a whole number as int, a list, a mapping, nil, or else the text as it is written: 1e6,
// 100k and 1.10 keep their form until they meet the key that they are for.
func (r *valueReader) value(n *yaml.Node, depth int) (any, error) {
	if r.nodes++; depth > maxDepth || r.nodes > maxNodes {
		return nil, fmt.Errorf("line %d: nested too deeply", n.Line)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			v, err := r.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		return r.mapping(n, depth)
	}
	return plainValue(n), nil
}

func (r *valueReader) mapping(n *yaml.Node, depth int) (any, error) {
	m := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: a key must be a single word", key.Line)
		}
		if _, twice := m[key.Value]; twice {
			return nil, fmt.Errorf("line %d: the key %q is duplicate", key.Line, key.Value)
		}
		v, err := r.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		m[key.Value] = v
	}
	return m, nil
}

func plainValue(n *yaml.Node) any {
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		if n.Value == "true" || n.Value == "false" {
			return n.Value == "true"
		}
	case "!!int":
		if i, err := strconv.ParseInt(n.Value, 10, 64); err == nil && strconv.FormatInt(i, 10) == n.Value && -mostExact < i &&
			i < mostExact {
			return int(i)
		}
	}
	return strings.ToValidUTF8(n.Value, "\uFFFD")
}

// mostExact is the limit below which a whole number is the same number in JSON, which has only floats.
const mostExact = 1 << 53

// exact reports whether a number that came from JSON is whole, and the one that was written.
func exact(x float64) bool { return x == math.Trunc(x) && math.Abs(x) < mostExact }

// Plain gives a value that came from JSON the form that values of levels have: whole numbers are int. It changes
// lists and mappings in place.
func Plain(v any) any {
	switch v := v.(type) {
	case float64:
		if exact(v) {
			return int(v)
		}
	case []any:
		for i := range v {
			v[i] = Plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = Plain(v[k])
		}
	}
	return v
}

// MarshalYAML writes a level that is only a value as that.
func (l Level) MarshalYAML() (any, error) {
	type fields Level
	switch l.Value.(type) {
	case bool, int, string:
		if l.Name == "" && l.Set == nil && l.Without == nil && !l.Baseline {
			return l.Value, nil
		}
	}
	return fields(l), nil
}

// UnmarshalJSON reads a level: its value alone, or an object.
func (l *Level) UnmarshalJSON(b []byte) error {
	type fields Level
	var f fields
	if text := strings.TrimSpace(string(b)); strings.HasPrefix(text, "{") {
		if err := json.Unmarshal(b, &f); err != nil {
			return err
		}
	} else if err := json.Unmarshal(b, &f.Value); err != nil {
		return err
	} else if f.Value == nil {
		return errors.New("a level needs a value")
	}
	f.Value = Plain(f.Value)
	Plain(f.Set)
	for _, set := range f.Without {
		Plain(set)
	}
	*l = Level(f)
	return nil
}
