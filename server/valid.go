package server

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// maxDepth limits the nesting of documents. MongoDB allows 100.
const maxDepth = 200

// Valid returns an error if a document or a nested document is not valid BSON. [bson.Raw.Validate] checks only the
// elements of the outer document, and [bson.Raw.Lookup] panics in a damaged nested document.
func Valid(doc bson.Raw) error { return valid(doc, 0) }

func valid(doc bson.Raw, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("documents are nested more than %d levels deep", maxDepth)
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
			err = fmt.Errorf("the value of %q is not a document", e.Key())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
