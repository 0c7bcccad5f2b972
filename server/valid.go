package server

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// maxDepth bounds the documents within a document. MongoDB allows 100.
const maxDepth = 200

// Valid returns an error if a document is not BSON, down to the documents within it. [bson.Raw.Validate] looks at its own
// elements only, and [bson.Raw.Lookup] panics where it goes into a document that is damaged.
func Valid(doc bson.Raw) error { return valid(doc, 0) }

func valid(doc bson.Raw, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("more than %d documents are within each other", maxDepth)
	}
	if err := doc.Validate(); err != nil {
		return err
	}
	elements, err := doc.Elements()
	if err != nil {
		return err
	}
	for _, e := range elements {
		v := e.Value()
		if inner, ok := v.DocumentOK(); ok {
			err = valid(inner, depth+1)
		} else if list, ok := v.ArrayOK(); ok {
			err = valid(bson.Raw(list), depth+1)
		} else if v.Type == bson.TypeEmbeddedDocument || v.Type == bson.TypeArray {
			err = fmt.Errorf("what is in %q is no document", e.Key())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
