package workload

import (
	"strconv"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// What follows builds fixed filters, updates and pipelines once, when a workload is made. All
// workloads together use only these operators, which every store must know:
//
//	filters:      equality, $gte, $lt; dotted paths; an array matches if one of its elements does
//	projections:  fields of the document itself, by 1
//	updates:      $set, $inc, with dotted paths; replacement documents; the filter names one _id
//	stages:       $match, $group with $sum (of 1 or of a field) and $avg, $sort, $limit, in this order
//	sorting:      1 and -1, on one or several fields

// stages returns a pipeline: a BSON array of the given stages.
func stages(stages ...[]byte) []byte {
	dst, at := rawbson.Open(nil)
	for i, s := range stages {
		dst = bsoncore.AppendDocumentElement(dst, strconv.Itoa(i), s)
	}
	return rawbson.Close(dst, at)
}

// stage returns the document {name: {body}}.
func stage(name string, body func([]byte) []byte) []byte {
	dst, at := rawbson.Open(nil)
	dst, in := openDocElement(dst, name)
	dst = rawbson.Close(body(dst), in)
	return rawbson.Close(dst, at)
}

// limitStage returns the document {$limit: n}.
func limitStage(n int32) []byte {
	dst, at := rawbson.Open(nil)
	return rawbson.Close(bsoncore.AppendInt32Element(dst, "$limit", n), at)
}

// appendOperator appends the element {key: {operator: value}}.
func appendOperator(dst []byte, key, operator string, value func(dst []byte, key string) []byte) []byte {
	dst, at := openDocElement(dst, key)
	return rawbson.Close(value(dst, operator), at)
}
