package own

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// output compiles what is special about an aggregate that ends with $out or $merge: it writes, so it goes to the
// primary with a write concern. Documents of the collection that it writes to are no longer those of the load phase.
func (b *stepBuilder) output() {
	target, out := b.outputTarget()
	switch {
	case !out && b.of.WriteConcern != nil:
		b.fail("write_concern is for an aggregate that ends with $out or $merge")
	case !out:
		return
	case b.within:
		b.fail("a transaction cannot have an aggregate with $out or $merge")
	case target == "":
		b.fail("$out and $merge need the name of a collection")
	case b.of.ReadPreference != "" && b.of.ReadPreference != "primary":
		b.fail("an aggregate with $out or $merge goes to the primary. Leave read_preference out")
	}
	b.base.Out, b.base.MayBeEmpty = true, true // its answer has no documents
	concern := workload.Concern{}
	if b.base.Concern != nil {
		concern = *b.base.Concern
	}
	concern.Preference = "primary"
	b.base.Concern = &concern
	if k := b.c.byName[target]; k != nil {
		k.changed, k.removed = true, true
	}
}

// outputTarget returns the collection that the pipeline writes to; out is false for one that only reads.
func (b *stepBuilder) outputTarget() (target string, out bool) {
	n := resolve(b.of.Pipeline.node)
	if n == nil || n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return "", false
	}
	last := resolve(n.Content[len(n.Content)-1])
	if last.Kind != yaml.MappingNode || len(last.Content) != 2 {
		return "", false
	}
	keys := map[string]string{"$out": "coll", "$merge": "into"}
	key, out := keys[last.Content[0].Value]
	if !out {
		return "", false
	}
	for v := resolve(last.Content[1]); v != nil; key = "coll" { // {$merge: {into: {db: …, coll: …}}}
		if v.Kind == yaml.ScalarNode {
			return v.Value, true
		}
		v = valueAt(v, key)
	}
	return "", true
}

// valueAt returns the value of a key of a mapping, nil if there is none.
func valueAt(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return resolve(n.Content[i+1])
		}
	}
	return nil
}

// check refuses write concerns that no server can satisfy.
func (w *WriteConcern) check(command string) error {
	switch {
	case w == nil || strings.TrimSpace(w.W) != "0":
		return nil
	case w.Journal != nil && *w.Journal:
		return errors.New("write_concern: w: 0 and journal: true exclude each other, because a write with w: 0 has no reply")
	case command == "transaction" || command == "aggregate":
		return errors.New("write_concern: w: 0 is not possible, because its reply is needed. Use 1 or majority")
	}
	return nil
}
