package own

import (
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// Collections visits every collection that a pipeline names, except that of its aggregate. The pipeline is an array of
// BSON or a template of a workload file; both are bson.A with bson.D, and names are texts. Visit gets the stage, the
// database, which is empty if the pipeline names none, and the collection. If it returns a name, that replaces the
// database and the collection in the pipeline. An error says which name cannot be known.
type Collections struct {
	// Template says that generators of workload files may stand for values.
	Template bool
	Visit    func(stage, database, collection string) (replacement string)
}

// naming are the stages that name collections, with the key whose value is the name; "" for the argument itself.
var naming = map[string]string{"$out": "", "$merge": "into", "$lookup": "from", "$graphLookup": "from", "$unionWith": ""}

// choosing are the generators that return one of the values below them. All others return values that are known when an
// operation is made.
var choosing = map[string]bool{"$choose": true, "$optional": true, "$array": true}

// Walk visits the collections of a pipeline.
func (c *Collections) Walk(pipeline any) error { return c.walk(pipeline, true) }

// walk visits what is below v. stages says that v is a pipeline, a stage, or a choice of these. The stages that name
// collections are found at every depth.
func (c *Collections) walk(v any, stages bool) error {
	switch v := v.(type) {
	case bson.A:
		for i := range v {
			if err := c.walk(v[i], stages); err != nil {
				return err
			}
		}
	case bson.D:
		for i := range v {
			if err := c.element(&v[i], stages); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Collections) element(e *bson.E, stages bool) error {
	_, known := naming[e.Key]
	switch {
	case known:
		return c.name(e)
	case c.generator(e.Key):
		if stages && !choosing[e.Key] {
			return fmt.Errorf("a stage or a pipeline cannot be the generator %s. Write the stages", e.Key)
		}
	case strings.HasPrefix(e.Key, "$"):
		stages = e.Key == "$facet"
	}
	return c.walk(e.Value, stages)
}

func (c *Collections) generator(key string) bool {
	_, ok := generators[key]
	return c.Template && ok
}

// name visits the collection that a stage names, and what is below the stage.
func (c *Collections) name(e *bson.E) error {
	stage, key := e.Key, naming[e.Key]
	args, ok := e.Value.(bson.D)
	if !ok {
		if _, text := e.Value.(string); text || !c.Template {
			return nil // a collection of the same database, or what no server takes
		}
		return fmt.Errorf("%s needs the name of a collection", stage)
	}
	at := &e.Value
	named := key == ""
	for i := range args {
		a := &args[i]
		switch {
		case c.generator(a.Key):
			return fmt.Errorf("the collection of %s cannot be the generator %s. Write its name", stage, a.Key)
		case key != "" && a.Key == key:
			at, named = &a.Value, true
		case key == "" && slices.Contains([]string{"db", "coll", "timeseries"}, a.Key):
		default:
			if err := c.walk(a.Value, a.Key == "pipeline"); err != nil {
				return err
			}
		}
	}
	if !named && stage == "$merge" {
		return fmt.Errorf("$merge needs into: the name of a collection")
	}
	if named {
		return c.collection(stage, at)
	}
	return nil
}

// collection visits one name of a collection: a text, or a document with db and coll.
func (c *Collections) collection(stage string, at *any) error {
	place, ok := (*at).(bson.D)
	if !ok {
		return nil // without a database
	}
	var database, collection string
	var rest bson.D
	for _, e := range place {
		text, isText := e.Value.(string)
		switch {
		case e.Key == "db" && isText:
			database = text
		case e.Key == "coll" && isText:
			collection = text
		case stage == "$out" && e.Key == "timeseries", stage == "$unionWith" && e.Key == "pipeline":
			rest = append(rest, e)
		default:
			return fmt.Errorf("%s names a collection by %s. Write {db: NAME, coll: NAME} or its name", stage, e.Key)
		}
	}
	replacement := c.Visit(stage, database, collection)
	switch {
	case replacement == "":
	case stage == "$unionWith":
		*at = append(bson.D{{Key: "coll", Value: replacement}}, rest...)
	default:
		*at = replacement
	}
	return nil
}

// databases notes the databases that the pipeline of an operation names.
func (b *stepBuilder) databases() {
	if b.err != nil || b.of.Pipeline.IsZero() {
		return
	}
	c := Collections{Template: true, Visit: func(stage, database, _ string) string {
		if database != "" {
			b.c.named = append(b.c.named, workload.Named{Class: b.of.Class(), Stage: stage, Database: database})
		}
		return ""
	}}
	if err := c.Walk(treeOf(b.of.Pipeline.node)); err != nil {
		b.fail("%v", err)
	}
}

// treeOf is a template as a tree of documents, lists and texts.
func treeOf(n *yaml.Node) any {
	n = resolve(n)
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.MappingNode:
		d := bson.D{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			d = append(d, bson.E{Key: n.Content[i].Value, Value: treeOf(n.Content[i+1])})
		}
		return d
	case n.Kind == yaml.SequenceNode:
		a := bson.A{}
		for _, e := range n.Content {
			a = append(a, treeOf(e))
		}
		return a
	}
	return n.Value
}

func (p *Plan) Databases() []workload.Named { return p.named }
