package recorded

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// drawn is how many operations of a file are made to learn its shares.
const drawn = 20_000

// Shares returns the share of each shape among the requests of a workload file, as a client sends them.
func Shares(f own.File) (map[string]float64, error) {
	plan, err := own.Compile(f, workload.Spec{Seed: 1})
	if err != nil {
		return nil, err
	}
	m := NewModel(Options{})
	stream := plan.Stream(plan.Readers(), plan.Readers()+1) // behind the readers of change streams
	var op workload.Op
	for range drawn {
		stream.Next(&op)
		for i := range op.Requests {
			cmd, err := bson.Marshal(own.Command(&op.Requests[i]))
			if err != nil {
				return nil, err
			}
			one := Operation{Count: 1, Time: time.Unix(0, 0)}
			if one.fromCommand("", "db", cmd) == nil {
				m.addStatements(&one)
			}
			if stream.Listens(&op, i) { // later requests are made of the answer
				stream.Answer(&op, i, nil)
			}
		}
		stream.Done(&op, true)
	}
	shares := map[string]float64{}
	for _, s := range m.Shapes() {
		shares[s.plain()] += float64(s.Count) / float64(m.Operations)
	}
	return shares, nil
}

// addStatements adds each statement of an update or delete as an operation of its own, as profiles show them.
func (m *Model) addStatements(op *Operation) {
	list := map[string]string{"update": "updates", "delete": "deletes"}[op.Verb]
	array, ok := op.Command.Lookup(list).ArrayOK()
	if list == "" || !ok {
		m.Add(op)
		return
	}
	values, _ := array.Values()
	for _, v := range values {
		one := *op
		one.Command, _ = bson.Marshal(bson.D{{Key: op.Verb, Value: op.Collection}, {Key: list, Value: bson.A{v}}})
		m.Add(&one)
	}
}

// plain is the text of a shape without what clients write in several ways: defaults, and options of the answer only.
func (s *Shape) plain() string {
	tree := bson.D{}
	for _, e := range s.counted() {
		switch e.Key {
		case "ordered", "singleBatch", "readConcern", "writeConcern", "$readPreference", "tailable", "awaitData", "allowDiskUse",
			"let", "min", "max":
		case "updates", "deletes":
			list, _ := e.Value.(bson.A)
			var out bson.A
			for _, statement := range list {
				out = append(out, withoutDefaults(statement))
			}
			tree = append(tree, bson.E{Key: e.Key, Value: out})
		default:
			tree = append(tree, e)
		}
	}
	if len(tree) > 1 { // the order of arguments says nothing
		slices.SortStableFunc(tree[1:], func(a, b bson.E) int { return cmp.Compare(a.Key, b.Key) })
	}
	return textOf(tree)
}

// counted is the tree of a shape; that of a count is the aggregate that drivers send in its place today.
func (s *Shape) counted() bson.D {
	if s.Verb != "count" {
		return s.Tree
	}
	query := valueOf(s.Tree, "query")
	if query == nil {
		query = bson.D{}
	}
	stages := bson.A{bson.D{{Key: "$match", Value: query}}}
	for _, key := range []string{"skip", "limit"} {
		if v := valueOf(s.Tree, key); v != nil && v != int64(0) {
			stages = append(stages, bson.D{{Key: "$" + key, Value: v}})
		}
	}
	tree := bson.D{{Key: "aggregate", Value: s.Collection}, {Key: "pipeline", Value: append(stages, counting)}}
	for _, key := range []string{"hint", "collation"} {
		if v := valueOf(s.Tree, key); v != nil {
			tree = append(tree, bson.E{Key: key, Value: v})
		}
	}
	return tree
}

func withoutDefaults(statement any) any {
	d, _ := statement.(bson.D)
	out := bson.D{}
	for _, e := range d {
		if e.Value != false {
			out = append(out, e)
		}
	}
	return out
}

// Difference is the share of a shape in two files.
type Difference struct {
	Shape string
	A, B  float64
}

// Compare returns the shares of all shapes in two files, the largest first.
func Compare(a, b own.File) ([]Difference, error) {
	left, err := Shares(a)
	if err != nil {
		return nil, err
	}
	right, err := Shares(b)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(left)
	maps.Copy(all, right)
	var out []Difference
	for shape := range all {
		out = append(out, Difference{shape, left[shape], right[shape]})
	}
	slices.SortFunc(out, func(x, y Difference) int {
		return cmp.Or(cmp.Compare(max(y.A, y.B), max(x.A, x.B)), cmp.Compare(x.Shape, y.Shape))
	})
	return out, nil
}
