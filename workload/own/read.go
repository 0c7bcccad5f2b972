package own

import (
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// Read reads a workload file. Unknown keys are errors with their line and the nearest known key. [Compile] checks what
// the file says.
func Read(r io.Reader) (File, error) { return spec.ReadStrict[File](r, "workload") }

// Encode writes a workload file.
func Encode(w io.Writer, f File) error {
	b, err := yaml.Dump(f)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// UnmarshalYAML keeps the line of the operation.
func (o *Operation) UnmarshalYAML(n *yaml.Node) error {
	type plain Operation
	o.line = n.Line
	err := n.Decode((*plain)(o))
	o.line = n.Line
	return err
}

// UnmarshalYAML keeps the line of the write.
func (w *Write) UnmarshalYAML(n *yaml.Node) error {
	type plain Write
	err := n.Decode((*plain)(w))
	w.line = n.Line
	return err
}

// ShortForm tells the strict reader that a fixed time may stand for the keys.
func (Think) ShortForm() {}

// UnmarshalYAML reads a time, or {min: …, max: …}.
func (t *Think) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		d, err := spec.ParseDuration(n.Value)
		t.Min, t.Max = d, d
		return err
	}
	type plain Think
	if err := n.Decode((*plain)(t)); err != nil {
		return err
	}
	if t.Max < t.Min {
		return fmt.Errorf("line %d: think: max (%v) is less than min (%v)", n.Line, t.Max, t.Min)
	}
	return nil
}

// MarshalYAML writes a fixed time as it is.
func (t Think) MarshalYAML() (any, error) {
	if t.Min == t.Max {
		return t.Min.String(), nil
	}
	type plain Think
	return plain(t), nil
}

// commands are the commands of an operation with their collections, in the order of the file's type.
func (o *Operation) commands() []struct{ command, collection string } {
	var set []struct{ command, collection string }
	for _, c := range []struct{ command, collection string }{
		{"find", o.Find}, {"findOne", o.FindOne}, {"aggregate", o.Aggregate}, {"count", o.Count}, {"distinct", o.Distinct},
		{"insert", o.Insert}, {"bulkWrite", o.BulkWrite}, {"update", o.Update}, {"replace", o.Replace}, {"delete", o.Delete},
		{"findAndModify", o.FindAndModify}, {"watch", o.Watch},
	} {
		if c.collection != "" {
			set = append(set, c)
		}
	}
	if o.Transaction != nil {
		set = append(set, struct{ command, collection string }{"transaction", ""})
	}
	if o.Sequence != nil {
		set = append(set, struct{ command, collection string }{"sequence", ""})
	}
	return set
}

// Command returns the command of an operation and its collection, which transactions and sequences do not have.
func (o *Operation) Command() (command, collection string) {
	if set := o.commands(); len(set) > 0 {
		return set[0].command, set[0].collection
	}
	return "", ""
}

// Class is the name under which results list the operation.
func (o *Operation) Class() string {
	if o.Name != "" {
		return o.Name
	}
	command, collection := o.Command()
	return strings.TrimSuffix(strings.ToLower(command)+"-"+collection, "-")
}
