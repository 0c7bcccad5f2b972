package own

import (
	"encoding/json"
	"fmt"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// FreeForm tells the strict reader that the keys of a template are not known in advance.
func (Template) FreeForm() {}

// UnmarshalYAML keeps the value with its places in the file.
func (t *Template) UnmarshalYAML(n *yaml.Node) error {
	t.node = n
	return nil
}

// MarshalYAML returns the value as it was read or made.
func (t Template) MarshalYAML() (any, error) { return t.node, nil }

// MarshalJSON returns the value as JSON; keys keep their order.
func (t Template) MarshalJSON() ([]byte, error) { return appendJSON(nil, t.node) }

func appendJSON(dst []byte, n *yaml.Node) ([]byte, error) {
	n = resolve(n)
	var err error
	switch {
	case n == nil:
		return append(dst, "null"...), nil
	case n.Kind == yaml.MappingNode:
		dst = append(dst, '{')
		for i := 0; i+1 < len(n.Content) && err == nil; i += 2 {
			if i > 0 {
				dst = append(dst, ',')
			}
			key, _ := json.Marshal(n.Content[i].Value)
			dst, err = appendJSON(append(append(dst, key...), ':'), n.Content[i+1])
		}
		return append(dst, '}'), err
	case n.Kind == yaml.SequenceNode:
		dst = append(dst, '[')
		for i := 0; i < len(n.Content) && err == nil; i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, err = appendJSON(dst, n.Content[i])
		}
		return append(dst, ']'), err
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	b, err := json.Marshal(v)
	return append(dst, b...), err
}

// resolve follows aliases.
func resolve(n *yaml.Node) *yaml.Node {
	for range 20 {
		if n == nil || n.Kind != yaml.AliasNode {
			break
		}
		n = n.Alias
	}
	return n
}

// TemplateOf makes a template of a value: bson.D, bson.A, other templates, texts, numbers, truth values, nil, and the
// types of BSON, which are written as Extended JSON. A generator is a bson.D with its name as the only key.
func TemplateOf(v any) Template { return Template{node: nodeOf(v)} }

func nodeOf(v any) *yaml.Node {
	scalar := func(tag, value string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
	}
	switch v := v.(type) {
	case Template:
		return v.node
	case bson.D:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, e := range v {
			n.Content = append(n.Content, scalar("!!str", e.Key), nodeOf(e.Value))
		}
		if len(v) == 1 && len(v[0].Key) > 0 && v[0].Key[0] == '$' {
			n.Style = yaml.FlowStyle
		}
		return n
	case bson.A:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, e := range v {
			n.Content = append(n.Content, nodeOf(e))
		}
		return n
	case nil:
		return scalar("!!null", "null")
	case string:
		return scalar("!!str", v)
	case bool:
		return scalar("!!bool", strconv.FormatBool(v))
	case int:
		return scalar("!!int", strconv.Itoa(v))
	case int32:
		return scalar("!!int", strconv.Itoa(int(v)))
	case int64:
		return scalar("!!int", strconv.FormatInt(v, 10))
	case float64:
		return scalar("!!float", formatDouble(v))
	case spec.Duration:
		return scalar("!!str", v.String())
	}
	return extended(v)
}

// formatDouble writes a number that is read as a double.
func formatDouble(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		s += ".0"
	}
	return s
}

// extended writes a value of BSON in relaxed Extended JSON. What BSON cannot hold is written as text.
func extended(v any) *yaml.Node {
	text, err := bson.MarshalExtJSON(bson.D{{Key: "v", Value: v}}, false, false)
	var doc yaml.Node
	if err == nil {
		err = yaml.Unmarshal(text, &doc)
	}
	if err != nil {
		return nodeOf(fmt.Sprint(v))
	}
	return doc.Content[0].Content[1]
}
