package main

import (
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// matching are the keys of the documents that a filter selects: by _id, or by the values of fields.
func (r *replica) matching(docs map[string]bson.Raw, filter bson.Raw) ([]string, error) {
	fields, err := filter.Elements()
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		if d, ok := f.Value().DocumentOK(); strings.HasPrefix(f.Key(), "$") || ok && strings.HasPrefix(firstKey(d), "$") {
			return nil, errors.New("of filters the stand-in knows equality alone, and not " + f.String())
		}
	}
	if len(fields) == 1 && fields[0].Key() == "_id" {
		if key := keyOf(filter); docs[key] != nil {
			return []string{key}, nil
		}
		return nil, nil
	}
	keys := make([]string, 0, len(docs))
	for key, doc := range docs {
		if equal(doc, fields) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

func equal(doc bson.Raw, fields []bson.RawElement) bool {
	for _, f := range fields {
		if !doc.Lookup(f.Key()).Equal(f.Value()) {
			return false
		}
	}
	return true
}

func firstKey(d bson.Raw) string {
	if e, err := d.IndexErr(0); err == nil {
		return e.Key()
	}
	return ""
}

// changed is a document after an update: $inc, $set and $setOnInsert of fields, also of those inside of others, or a
// replacement.
func changed(doc bson.Raw, update any) (bson.Raw, error) {
	var d bson.D
	if err := bson.Unmarshal(doc, &d); err != nil {
		return nil, err
	}
	u := asD(update)
	if len(u) == 0 || !strings.HasPrefix(u[0].Key, "$") {
		if id := get(d, "_id"); id != nil && get(u, "_id") == nil {
			u = append(bson.D{{Key: "_id", Value: id}}, u...)
		}
		return bson.Marshal(u)
	}
	for _, op := range u {
		fields, _ := op.Value.(bson.D)
		for _, f := range fields {
			var err error
			if d, err = changeField(d, strings.Split(f.Key, "."), op.Key, f.Value); err != nil {
				return nil, err
			}
		}
	}
	return bson.Marshal(d)
}

func changeField(d bson.D, path []string, op string, v any) (bson.D, error) {
	at := -1
	for i := range d {
		if d[i].Key == path[0] {
			at = i
		}
	}
	var was any
	if at >= 0 {
		was = d[at].Value
	}
	var now any
	var err error
	if len(path) > 1 {
		inside, _ := was.(bson.D)
		now, err = changeField(inside, path[1:], op, v)
	} else {
		now, err = operate(op, was, v)
	}
	if err != nil {
		return nil, err
	}
	if at < 0 {
		return append(d, bson.E{Key: path[0], Value: now}), nil
	}
	d[at].Value = now
	return d, nil
}

func operate(op string, was, v any) (any, error) {
	switch op {
	case "$set":
		return v, nil
	case "$inc":
		return sum(was, v)
	}
	return nil, fmt.Errorf("of updates the stand-in knows $set and $inc, and not %s", op)
}

// sum adds whole numbers as $inc does: an int32 becomes an int64 when it has to.
func sum(a, b any) (any, error) {
	if a == nil {
		return b, nil
	}
	x, ok1 := whole(a)
	y, ok2 := whole(b)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("Cannot apply $inc to %T and %T", a, b)
	}
	_, small1 := a.(int32)
	_, small2 := b.(int32)
	if n := x + y; small1 && small2 && n == int64(int32(n)) {
		return int32(n), nil
	}
	return x + y, nil
}

func whole(v any) (int64, bool) {
	switch n := v.(type) {
	case int32:
		return int64(n), true
	case int64:
		return n, true
	}
	return 0, false
}
