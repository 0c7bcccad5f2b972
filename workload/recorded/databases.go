package recorded

import (
	"bytes"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// visitCollections visits the collections that the pipeline of a command names together with a database. It returns the
// command with the names that visit returned.
func visitCollections(cmd bson.Raw, visit func(stage, database, collection string) string) (bson.Raw, error) {
	if !bytes.Contains(cmd, []byte("db\x00")) {
		return cmd, nil
	}
	var command bson.D
	if err := bson.Unmarshal(cmd, &command); err != nil {
		return nil, Damaged
	}
	replaced := false
	c := own.Collections{Visit: func(stage, database, collection string) string {
		if database == "" {
			return ""
		}
		name := visit(stage, database, collection)
		replaced = replaced || name != ""
		return name
	}}
	for i := range command {
		if command[i].Key == "pipeline" {
			if err := c.Walk(command[i].Value); err != nil {
				return nil, err
			}
		}
	}
	if !replaced {
		return cmd, nil
	}
	return bson.Marshal(command)
}

// stay makes the pipeline of an operation stay in its database. A collection of another database becomes one of its own
// database, with both names in its name so that it is no collection of the workload.
func (op *Operation) stay() error {
	var err error
	op.Command, err = visitCollections(op.Command, func(_, database, collection string) string {
		if database == op.Database {
			return collection
		}
		name := database + "." + collection
		op.Moved = append(op.Moved, name)
		return name
	})
	if err != nil {
		return OtherCommand // the server knows another place than databases
	}
	return nil
}

var _ workload.Naming = (*Replay)(nil)

func (r *Replay) Databases() []workload.Named { return append(r.Plan.Databases(), r.named...) }

// name notes the databases that a kept command names. The command must be one that can be sent.
func (r *Replay) name(e entry) error {
	_, err := visitCollections(e.command, func(stage, database, _ string) string {
		class := ""
		if number := r.classes[e.operation]; number >= 0 {
			class = r.Plan.Classes()[number].Name
		}
		n := workload.Named{Class: class, Stage: stage, Database: database}
		for _, known := range r.named {
			if known == n {
				return ""
			}
		}
		r.named = append(r.named, n)
		return ""
	})
	return err
}
