//go:build !race

package e2e

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// shape describes the documents of a workload.
type shape struct {
	// fields have their BSON types, by the names of $type, in order; see describe.
	fields string
	// text has patterns of strings and binary values by the path of their field.
	text map[string]string
	// lengths has the numbers of elements of arrays by the path of their field.
	lengths map[string][2]int
	// bytes is the range of document sizes.
	bytes [2]int
}

// typeNames are the names of MongoDB's $type operator.
var typeNames = map[bson.Type]string{
	bson.TypeDouble: "double", bson.TypeString: "string", bson.TypeObjectID: "objectId", bson.TypeBoolean: "bool",
	bson.TypeDateTime: "date", bson.TypeNull: "null", bson.TypeInt32: "int", bson.TypeInt64: "long",
}

// describe writes the fields of a document with their types. Binary values have their subtype and length,
// arrays the type of their elements, once if all have the same:
//
//	_id:string field0:binData(0)100 tags:[string] address:{street:string city:string}
func describe(doc bson.Raw) string {
	elements, err := doc.Elements()
	if err != nil {
		return err.Error()
	}
	var parts []string
	for _, e := range elements {
		parts = append(parts, e.Key()+":"+describeValue(e.Value()))
	}
	return strings.Join(parts, " ")
}

func describeValue(v bson.RawValue) string {
	switch v.Type {
	case bson.TypeBinary:
		subtype, data := v.Binary()
		return fmt.Sprintf("binData(%d)%d", subtype, len(data))
	case bson.TypeEmbeddedDocument:
		return "{" + describe(v.Document()) + "}"
	case bson.TypeArray:
		values, err := v.Array().Values()
		if err != nil {
			return err.Error()
		}
		var kinds []string
		for _, value := range values {
			kinds = append(kinds, describeValue(value))
		}
		return "[" + strings.Join(slices.Compact(kinds), " ") + "]"
	}
	if name, ok := typeNames[v.Type]; ok {
		return name
	}
	return v.Type.String()
}

// check fails the test for the first document that is not of the shape.
func (s shape) check(t *testing.T, docs []bson.Raw) {
	t.Helper()
	patterns := map[string]*regexp.Regexp{}
	for path, p := range s.text {
		patterns[path] = regexp.MustCompile(p)
	}
	for _, doc := range docs {
		if err := s.problem(doc, patterns); err != nil {
			t.Errorf("%v\nin document %v", err, doc)
			return
		}
	}
}

func (s shape) problem(doc bson.Raw, patterns map[string]*regexp.Regexp) error {
	if got := describe(doc); got != s.fields {
		return fmt.Errorf("fields and types:\n got %s\nwant %s", got, s.fields)
	}
	if n := len(doc); n < s.bytes[0] || n > s.bytes[1] {
		return fmt.Errorf("%d bytes, not %d to %d", n, s.bytes[0], s.bytes[1])
	}
	for path, p := range patterns {
		if data := content(doc.Lookup(strings.Split(path, ".")...)); !p.Match(data) {
			return fmt.Errorf("%s is %q, which does not match %v", path, data, p)
		}
	}
	for path, want := range s.lengths {
		values, err := doc.Lookup(strings.Split(path, ".")...).Array().Values()
		if err != nil || len(values) < want[0] || len(values) > want[1] {
			return fmt.Errorf("%s has %d elements (error %v), not %d to %d", path, len(values), err, want[0], want[1])
		}
	}
	return nil
}

// content returns the bytes of a string or a binary value.
func content(v bson.RawValue) []byte {
	if _, data, ok := v.BinaryOK(); ok {
		return data
	}
	s, _ := v.StringValueOK()
	return []byte(s)
}

// sortByID orders documents by the bytes of their _id, which all have the same type.
func sortByID(docs []bson.Raw) {
	slices.SortFunc(docs, func(a, b bson.Raw) int { return bytes.Compare(a.Lookup("_id").Value, b.Lookup("_id").Value) })
}

// sameDocuments fails the test unless both have the same documents, byte for byte.
func sameDocuments(t *testing.T, a, b []bson.Raw, what string) {
	t.Helper()
	if len(a) != len(b) {
		t.Errorf("%s: %d and %d documents", what, len(a), len(b))
		return
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			t.Errorf("%s: document %d differs:\n%v\n%v", what, i, a[i], b[i])
			return
		}
	}
}

// distinctIDs fails the test if an _id occurs twice.
func distinctIDs(t *testing.T, docs []bson.Raw) {
	t.Helper()
	seen := map[string]bool{}
	for _, doc := range docs {
		id := string(doc.Lookup("_id").Value)
		if seen[id] {
			t.Errorf("_id %v occurs twice", doc.Lookup("_id"))
			return
		}
		seen[id] = true
	}
}
