package recorded

import (
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// mask is what a server with redactClientLogData writes in place of each value. It also writes arrays as documents
// whose fields are numbers.
const mask = "###"

// isRedacted reports whether a command or statement has masks instead of values: its collection, or what is no text.
func isRedacted(elements []bson.RawElement) bool {
	masked := func(v bson.RawValue) bool {
		s, ok := v.StringValueOK()
		return ok && s == mask
	}
	if masked(elements[0].Value()) {
		return true
	}
	return elements[0].Key() == "q" && slices.ContainsFunc(elements, func(e bson.RawElement) bool {
		return (e.Key() == "multi" || e.Key() == "limit") && masked(e.Value())
	})
}

// unredacted writes a redacted command as it can have been: with the collection of its namespace, with arrays, and
// without options. docs is how many documents it returned or changed. False says that its shape depends on what is
// masked.
func unredacted(cmd bson.Raw, ns string, docs int64) (out bson.Raw, known bool) {
	var d bson.D
	if err := bson.Unmarshal(cmd, &d); err != nil {
		return cmd, false
	}
	u := unmasker{docs: docs, known: true}
	d, _ = arrays(d).(bson.D)
	out, err := bson.Marshal(u.command(d, ns))
	return out, err == nil && u.known
}

// arrays restores arrays.
func arrays(v any) any {
	switch v := v.(type) {
	case bson.A:
		for i := range v {
			v[i] = arrays(v[i])
		}
	case bson.D:
		list := make(bson.A, len(v))
		is := len(v) > 0
		for i := range v {
			v[i].Value = arrays(v[i].Value)
			list[i] = v[i].Value
			is = is && v[i].Key == strconv.Itoa(i)
		}
		if is {
			return list
		}
	}
	return v
}

// unmasker notes whether the shape is known.
type unmasker struct {
	docs  int64
	known bool
}

// unknown returns a value whose masks hide the shape.
func (u *unmasker) unknown(v any) any {
	u.known = false
	return v
}

func (u *unmasker) command(d bson.D, ns string) bson.D {
	if len(d) == 0 {
		return d
	}
	raw, _ := bson.Marshal(d)
	elements, _ := bson.Raw(raw).Elements()
	if isStatement(elements) {
		return u.statement(d)
	}
	_, collection, _ := strings.Cut(ns, ".")
	out := bson.D{{Key: d[0].Key, Value: collection}}
	has := func(key string) bool { return slices.ContainsFunc(d, func(e bson.E) bool { return e.Key == key }) }
	for _, e := range d[1:] {
		switch e.Key {
		case "filter", "query":
			e.Value = u.filter(e.Value)
		case "updates", "deletes":
			e.Value = u.each(e.Value, func(v any) any { s, _ := v.(bson.D); return u.statement(s) })
		case "pipeline":
			e.Value = u.pipeline(e.Value)
		case "update":
			e.Value = u.change(e.Value)
		case "arrayFilters":
			e.Value = u.each(e.Value, u.filter)
		case "key": // of a distinct
			e.Value = u.unknown(e.Value)
		case "sort", "projection", "fields":
			e.Value = u.keys(e.Value)
		case "limit":
			if !has("singleBatch") { // a limit without it is any number
				continue
			}
			e.Value = int32(1)
		case "singleBatch":
			e.Value = has("limit")
		case "remove":
			if e.Value = !has("update"); has("update") {
				continue
			}
		case "autocommit", "shardVersion": // the masks are ignored
		default:
			continue
		}
		out = append(out, e)
	}
	return out
}

// statement restores a statement of an update or delete.
func (u *unmasker) statement(d bson.D) bson.D {
	var out bson.D
	for _, e := range d {
		switch e.Key {
		case "q", "filter":
			e.Value = u.filter(e.Value)
		case "u", "updateMods":
			e.Value = u.change(e.Value)
		case "arrayFilters":
			e.Value = u.each(e.Value, u.filter)
		case "multi":
			e.Value = u.docs > 1
		case "limit":
			e.Value = int32(1)
			if u.docs > 1 {
				e.Value = int32(0)
			}
		case "update", "delete", "insert":
			e.Value = int32(0)
		case "document":
			e.Value = u.unknown(e.Value)
		default:
			continue
		}
		out = append(out, e)
	}
	return out
}

func (u *unmasker) each(v any, one func(any) any) any {
	list, ok := v.(bson.A)
	if !ok {
		return u.unknown(v)
	}
	for i := range list {
		list[i] = one(list[i])
	}
	return list
}

// keys restores a sort or a projection, as ascending and as fields that are returned.
func (u *unmasker) keys(v any) any {
	d, ok := v.(bson.D)
	if !ok {
		return u.unknown(v)
	}
	for i, e := range d {
		if d[i].Value = int32(1); e.Value != mask {
			d[i].Value = u.unknown(e.Value)
		}
	}
	return d
}

// filter restores a filter.
func (u *unmasker) filter(v any) any {
	d, ok := v.(bson.D)
	if !ok {
		return u.unknown(v)
	}
	for i, e := range d {
		switch {
		case e.Key == "$and" || e.Key == "$or" || e.Key == "$nor":
			d[i].Value = u.each(e.Value, u.filter)
		case len(e.Key) > 0 && e.Key[0] == '$':
			d[i].Value = u.operator(e.Key, e.Value)
		default:
			d[i].Value = u.condition(e.Value)
		}
	}
	return d
}

func (u *unmasker) condition(v any) any {
	if d, ok := v.(bson.D); ok && len(d) > 0 && len(d[0].Key) > 0 && d[0].Key[0] == '$' {
		for i, e := range d {
			d[i].Value = u.operator(e.Key, e.Value)
		}
	}
	return v
}

func (u *unmasker) operator(name string, v any) any {
	switch name {
	case "$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$all":
		return v
	case "$exists":
		return true
	case "$not":
		return u.condition(v)
	case "$elemMatch":
		return u.filter(v)
	}
	return u.unknown(v)
}

// change restores the change of an update.
func (u *unmasker) change(v any) any {
	d, ok := v.(bson.D)
	if !ok {
		return u.unknown(v) // a pipeline
	}
	for i, e := range d {
		fields, ok := e.Value.(bson.D)
		if len(e.Key) == 0 || e.Key[0] != '$' || !ok {
			continue
		}
		for j, f := range fields {
			fields[j].Value = u.operand(e.Key, f.Value)
		}
		d[i].Value = fields
	}
	return d
}

// operand restores the operand of an operator for updates. Only numbers can be added.
func (u *unmasker) operand(op string, v any) any {
	switch op {
	case "$set", "$setOnInsert", "$min", "$max", "$pullAll":
		return v
	case "$unset":
		return ""
	case "$inc", "$mul", "$pop":
		return int32(1)
	case "$currentDate":
		return true
	case "$push", "$addToSet", "$pull":
		if v == mask {
			return v
		}
		if d, ok := v.(bson.D); ok && len(d) == 1 && d[0].Key == "$each" {
			return v
		}
	}
	return u.unknown(v)
}

// pipeline restores the pipelines of which masks hide no part: $match, and the $group with which drivers count.
func (u *unmasker) pipeline(v any) any {
	return u.each(v, func(v any) any {
		stage, _ := v.(bson.D)
		if len(stage) != 1 {
			return u.unknown(v)
		}
		switch inner, _ := stage[0].Value.(bson.D); stage[0].Key {
		case "$match":
			stage[0].Value = u.filter(stage[0].Value)
			return stage
		case "$group":
			if len(inner) == 2 && inner[0].Key == "_id" && inner[0].Value == mask && inner[1].Key == "n" {
				if sum, ok := inner[1].Value.(bson.D); ok && len(sum) == 1 && sum[0].Key == "$sum" && sum[0].Value == mask {
					return bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: int32(1)},
						{Key: "n", Value: bson.D{{Key: "$sum", Value: int32(1)}}}}}}
				}
			}
		}
		return u.unknown(v)
	})
}
