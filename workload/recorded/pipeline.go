package recorded

import (
	"maps"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// nameArguments are the arguments of stages and operators whose text is the name of a field.
var nameArguments = map[string]bool{
	"$lookup.localField": true, "$lookup.foreignField": true, "$lookup.as": true, "$graphLookup.connectFromField": true,
	"$graphLookup.connectToField": true, "$graphLookup.as": true, "$graphLookup.depthField": true,
	"$unwind.includeArrayIndex": true, "$geoNear.distanceField": true, "$geoNear.includeLocs": true, "$geoNear.key": true,
	"$densify.field": true, "$map.as": true, "$filter.as": true, "$getField.field": true, "$setField.field": true,
	"$unsetField.field": true, "$count": true, "$unset": true, "$getField": true, "$merge.on": true,
}

// keptArguments are the arguments that are part of the shape as they are.
var keptArguments = map[string]bool{
	"$limit": true, "$skip": true, "$sample": true, "$out": true, "$merge.into": true, "$merge.whenMatched": true,
	"$merge.whenNotMatched": true, "$lookup.from": true, "$graphLookup.from": true, "$graphLookup.maxDepth": true,
	"$unionWith": true, "$unionWith.coll": true, "$unwind.preserveNullAndEmptyArrays": true, "$meta": true,
	"$dateToString.format": true, "$dateToString.timezone": true, "$dateFromString.format": true, "$dateTrunc.unit": true,
	"$dateAdd.unit": true, "$dateSubtract.unit": true, "$dateDiff.unit": true, "$dateTrunc.timezone": true,
	"$bucketAuto.buckets": true, "$bucketAuto.granularity": true, "$geoNear.spherical": true, "$changeStream": true,
	"$collStats": true, "$indexStats": true, "$convert.to": true, "$type": true, "$first.n": true, "$setWindowFields.unit": true,
}

// pipeline shapes an aggregation pipeline.
func (w *walker) pipeline(v bson.RawValue) any {
	computed, whole, server := w.computed, w.whole, w.server
	w.computed = maps.Clone(computed)
	defer func() { w.computed, w.whole, w.server = computed, whole, server }()
	return w.list(v, func(stage bson.RawValue) any {
		out := bson.D{}
		for _, e := range documentOf(stage) {
			out = append(out, bson.E{Key: e.Key(), Value: w.stage(e.Key(), e.Value())})
			w.compute(e.Key(), e.Value())
		}
		return out
	})
}

// serverStages return documents of the server, whose values are no data.
var serverStages = map[string]bool{"$changeStream": true, "$collStats": true, "$indexStats": true, "$planCacheStats": true,
	"$currentOp": true, "$listSessions": true, "$listLocalSessions": true}

// compute notes the fields that a stage computes, because later stages compare them with values that no document has.
func (w *walker) compute(stage string, v bson.RawValue) {
	w.server = w.server || serverStages[stage]
	switch stage {
	case "$addFields", "$set", "$project":
		for _, e := range documentOf(v) {
			name, _, _ := strings.Cut(e.Key(), ".")
			_, number := e.Value().AsInt64OK()
			if stage != "$project" || !number && e.Value().Type != bson.TypeBoolean {
				w.computed[name] = true
			}
		}
	case "$lookup", "$graphLookup", "$geoNear":
		for _, e := range documentOf(v) {
			if as, ok := e.Value().StringValueOK(); ok && (e.Key() == "as" || e.Key() == "distanceField" || e.Key() == "includeLocs") {
				name, _, _ := strings.Cut(as, ".")
				w.computed[name] = true
			}
		}
	case "$group", "$bucket", "$bucketAuto", "$sortByCount", "$count", "$replaceRoot", "$replaceWith", "$facet":
		w.whole = true
	}
}

// changed are the fields of change events that have a part of a document.
var changed = []string{"fullDocument.", "documentKey.", "updateDescription.updatedFields.", "fullDocumentBeforeChange."}

// serverField shapes a condition on a field of a document of the server. Only parts of documents in it are data.
func (w *walker) serverField(e bson.RawElement) bson.E {
	key := e.Key()
	for _, prefix := range changed {
		if field, ok := strings.CutPrefix(key, prefix); ok {
			w.server = false
			defer func() { w.server = true }()
			return bson.E{Key: prefix + w.names.path(field), Value: w.condition(field, e.Value())}
		}
	}
	return bson.E{Key: key, Value: plainValue(e.Value())}
}

// stage shapes the argument of a stage.
func (w *walker) stage(name string, v bson.RawValue) any {
	switch name {
	case "$match":
		return w.filter(v)
	case "$sort":
		return w.keys(v)
	case "$facet":
		out := bson.D{}
		for _, e := range documentOf(v) {
			out = append(out, bson.E{Key: w.names.path(e.Key()), Value: w.pipeline(e.Value())})
		}
		return out
	case "$project":
		return w.projection(v)
	case "$changeStream": // a resume token is of no use later
		out := bson.D{}
		for _, e := range documentOf(v) {
			if e.Key() == "fullDocument" {
				out = append(out, bson.E{Key: e.Key(), Value: plainValue(e.Value())})
			}
		}
		return out
	case "$lookup", "$graphLookup", "$unionWith", "$unwind", "$geoNear", "$merge", "$densify", "$setWindowFields",
		"$bucket", "$bucketAuto", "$out", "$sample", "$collStats":
		if v.Type == bson.TypeEmbeddedDocument {
			return w.arguments(name, v)
		}
	}
	return w.named(name, v)
}

// arguments shapes the named arguments of a stage or operator.
func (w *walker) arguments(name string, v bson.RawValue) any {
	out := bson.D{}
	for _, e := range documentOf(v) {
		key, val := e.Key(), e.Value()
		switch key {
		case "pipeline":
			out = append(out, bson.E{Key: key, Value: w.otherPipeline(val)})
		case "query", "restrictSearchWithMatch":
			out = append(out, bson.E{Key: key, Value: w.filter(val)})
		case "sortBy":
			out = append(out, bson.E{Key: key, Value: w.keys(val)})
		case "let", "vars", "output":
			out = append(out, bson.E{Key: key, Value: w.expression(val)})
		case "near":
			out = append(out, bson.E{Key: key, Value: w.geo("", val)})
		case "maxDistance", "minDistance", "distanceMultiplier":
			out = append(out, bson.E{Key: key, Value: w.plainHole(val)})
		case "size", "documents", "window", "boundaries":
			out = append(out, bson.E{Key: key, Value: plainValue(val)})
		default:
			out = append(out, bson.E{Key: key, Value: w.named(name+"."+key, val)})
		}
	}
	return out
}

// otherPipeline shapes a pipeline on another collection, whose fields are not those of this one.
func (w *walker) otherPipeline(v bson.RawValue) any {
	whole := w.whole
	w.whole = true
	defer func() { w.whole = whole }()
	return w.pipeline(v)
}

// named shapes an argument that may be the name of a field or part of the shape, and otherwise is an expression.
func (w *walker) named(argument string, v bson.RawValue) any {
	switch {
	case nameArguments[argument]:
		if s, ok := v.StringValueOK(); ok {
			return w.names.path(s)
		}
		if v.Type == bson.TypeArray {
			return w.list(v, func(v bson.RawValue) any { return w.named(argument, v) })
		}
	case keptArguments[argument] && (!w.typed || isName(v)):
		return plainValue(v)
	}
	return w.expression(v)
}

// isName reports whether a value of $queryStats is a text that it shows as it is.
func isName(v bson.RawValue) bool {
	s, ok := v.StringValueOK()
	return ok && !strings.HasPrefix(s, "?")
}

// withArguments are operators of expressions whose operand has named arguments.
var withArguments = map[string]bool{"$map": true, "$filter": true, "$reduce": true, "$let": true, "$getField": true,
	"$setField": true, "$unsetField": true, "$dateToString": true, "$dateFromString": true, "$dateTrunc": true, "$dateAdd": true,
	"$dateSubtract": true, "$dateDiff": true, "$convert": true, "$cond": true, "$switch": true, "$regexMatch": true,
	"$regexFind": true, "$regexFindAll": true, "$trim": true, "$ltrim": true, "$rtrim": true, "$zip": true, "$sortArray": true,
	"$accumulator": true, "$topN": true, "$top": true, "$bottom": true, "$bottomN": true, "$firstN": true, "$lastN": true}

// expression shapes an expression of a pipeline. Paths stay, and so do true, false and the numbers -1, 0 and 1, which
// pipelines use to count and to choose.
func (w *walker) expression(v bson.RawValue) any {
	switch v.Type {
	case bson.TypeString:
		s := v.StringValue()
		if strings.HasPrefix(s, "$") {
			return w.names.reference(s)
		}
	case bson.TypeBoolean, bson.TypeNull:
		return plainValue(v)
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble:
		if n, ok := plainValue(v).(int64); ok && n >= -1 && n <= 1 {
			return n
		}
	case bson.TypeArray:
		return w.operands(v)
	case bson.TypeEmbeddedDocument:
		return w.expressions(v)
	}
	return w.hole("", v)
}

// operands shapes the operands of an operator. A value next to a field is compared with it.
func (w *walker) operands(v bson.RawValue) any {
	field := ""
	values, _ := v.Array().Values()
	if len(values) == 2 {
		for _, o := range values {
			if s, ok := o.StringValueOK(); ok && strings.HasPrefix(s, "$") && !strings.HasPrefix(s, "$$") {
				field = s[1:]
			}
		}
	}
	return w.list(v, func(o bson.RawValue) any {
		before := len(w.holes)
		out := w.expression(o)
		first, _, _ := strings.Cut(field, ".")
		if h, ok := out.(*Hole); ok && field != "" && h.N == before && !w.whole && !w.computed[first] {
			h.Field, h.Op = w.names.path(field), "$expr"
		}
		return out
	})
}

// expressions shapes an operator with its operands, or a document of expressions.
func (w *walker) expressions(v bson.RawValue) any {
	out := bson.D{}
	for _, e := range documentOf(v) {
		key, val := e.Key(), e.Value()
		switch {
		case key == "$literal" || key == "$const":
			out = append(out, bson.E{Key: key, Value: w.hole("", val)})
		case withArguments[key] && val.Type == bson.TypeEmbeddedDocument:
			out = append(out, bson.E{Key: key, Value: w.arguments(key, val)})
		case strings.HasPrefix(key, "$"):
			out = append(out, bson.E{Key: key, Value: w.named(key, val)})
		default:
			out = append(out, bson.E{Key: w.names.path(key), Value: w.expression(val)})
		}
	}
	return out
}
