package own

import (
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

var _ workload.Creator = (*Plan)(nil)

// Views are made after the collections that they show, because the file lists them so.
func (p *Plan) Creations() []workload.Creation { return p.creations }

// create compiles what a server must be told to make of a collection: a view, capped, a time series, a collation.
func (k *collection) create(c *compiler, p *Plan) (err error) {
	of := k.of
	var options []byte
	kinds := 0
	for _, set := range []bool{of.Capped != nil, of.TimeSeries != nil, of.View != nil} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return fmt.Errorf("collection %s: capped, time_series and view exclude each other", k.name)
	case of.View != nil:
		options, err = k.view(c)
	case of.Capped != nil:
		k.removed = true
		options, err = k.capped()
	case of.TimeSeries != nil:
		k.removed = k.removed || of.TimeSeries.ExpireAfter != nil
		options, err = k.timeSeries()
	}
	if err == nil && !of.Collation.IsZero() {
		var doc []byte
		if doc, err = c.fixed(of.Collation, "collation"); err == nil {
			options = bsoncore.AppendDocumentElement(options, "collation", doc)
		}
	}
	if err != nil {
		return fmt.Errorf("collection %s: %w", k.name, err)
	}
	if options != nil {
		p.creations = append(p.creations, workload.Creation{Collection: k.name, Options: options})
	}
	return nil
}

func (k *collection) view(c *compiler) ([]byte, error) {
	of := k.of
	if of.Count > 0 || !of.Document.IsZero() || len(of.Indexes) > 0 || of.Shard != nil {
		return nil, fmt.Errorf("a view has no count, document, indexes and shard")
	}
	if c.byName[of.View.On] == nil {
		return nil, fmt.Errorf("the view is on %q, which the file does not have%s", of.View.On,
			nearest.DidYouMean(of.View.On, c.collectionNames()))
	}
	pipeline := []byte{5, 0, 0, 0, 0}
	if !of.View.Pipeline.IsZero() {
		s := c.root()
		s.ops = true
		v, err := c.compile(of.View.Pipeline.node, s)
		if err != nil {
			return nil, err
		}
		fixed, ok := v.(constant)
		if !ok || fixed.kind != rawbson.Array {
			return nil, fmt.Errorf("the pipeline of a view must be a list of stages without generators")
		}
		pipeline = fixed.data
	}
	options := bsoncore.AppendStringElement(nil, "viewOn", of.View.On)
	return bsoncore.AppendArrayElement(options, "pipeline", pipeline), nil
}

func (k *collection) capped() ([]byte, error) {
	c := k.of.Capped
	if c.Size <= 0 || c.Max < 0 {
		return nil, fmt.Errorf("capped needs a size, for example 16MiB")
	}
	options := bsoncore.AppendBooleanElement(nil, "capped", true)
	options = bsoncore.AppendInt64Element(options, "size", int64(c.Size))
	if c.Max > 0 {
		options = bsoncore.AppendInt64Element(options, "max", int64(c.Max))
	}
	return options, nil
}

func (k *collection) timeSeries() ([]byte, error) {
	t := k.of.TimeSeries
	if t.Time == "" || strings.ContainsAny(t.Time+t.Meta, ".$") {
		return nil, fmt.Errorf("time_series needs time: the name of a field with a date, and meta is the name of a field")
	}
	var inner []byte
	for _, o := range [][2]string{{"timeField", t.Time}, {"metaField", t.Meta}, {"granularity", t.Granularity}} {
		if o[1] != "" {
			inner = bsoncore.AppendStringElement(inner, o[0], o[1])
		}
	}
	options := bsoncore.AppendDocumentElement(nil, "timeseries", bsoncore.BuildDocument(nil, inner))
	if t.ExpireAfter != nil {
		options = bsoncore.AppendInt64Element(options, "expireAfterSeconds", int64(t.ExpireAfter.Std().Seconds()))
	}
	return options, nil
}
