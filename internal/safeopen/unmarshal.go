package safeopen

import (
	"encoding/json"
	"reflect"
)

// maxKept bounds the memory of all decoded lines of a file. The journal of a study of 100,000 trials needs this much.
const maxKept = 128 << 20 // bytes

// Unmarshal is [json.Unmarshal] for untrusted documents: it checks the number of values and their memory before it
// allocates.
func Unmarshal(b []byte, v any) error {
	if err := count(b); err != nil {
		return err
	}
	if len(b) > shortDocument {
		if _, ok := costOf(b, v, maxCost); !ok {
			return &LimitError{What: "the document", Most: maxCost, Unit: "bytes in memory"}
		}
	}
	return json.Unmarshal(b, v)
}

// Kept bounds the memory of a list of documents. The zero value is ready for use.
type Kept struct{ taken int64 }

// Unmarshal is [Unmarshal] for the next document of the list. It is a [*LimitError] if the list would become too large.
func (k *Kept) Unmarshal(b []byte, v any) error {
	if err := count(b); err != nil {
		return err
	}
	cost, ok := costOf(b, v, maxKept-k.taken)
	if !ok {
		return &LimitError{What: "the file", Most: maxKept, Unit: "bytes in memory"}
	}
	k.taken += cost + int64(len(b)) + int64(reflect.TypeOf(v).Elem().Size())
	return json.Unmarshal(b, v)
}
