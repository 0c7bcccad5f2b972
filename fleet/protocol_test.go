package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// shapeOf describes a type of this package as JSON has it. Types of other packages, which the release decides, are
// their names.
func shapeOf(t reflect.Type, in string) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return shapeOf(t.Elem(), in)
	case t.Kind() == reflect.Slice:
		return "[" + shapeOf(t.Elem(), in) + "]"
	case t.Kind() != reflect.Struct || t.PkgPath() != in:
		return t.String()
	}
	var b strings.Builder
	for f := range t.Fields() {
		fmt.Fprintf(&b, "%s %s %s;", f.Name, f.Tag.Get("json"), shapeOf(f.Type, in))
	}
	return "{" + b.String() + "}"
}

// Messages that change need another [Protocol], so that an agent of another release gets a clear error.
func TestProtocolChangesWithTheMessages(t *testing.T) {
	const number, shape = 2, "a234e84345da370e"
	c := reflect.TypeFor[command]()
	sum := sha256.Sum256([]byte(shapeOf(c, c.PkgPath()) + shapeOf(reflect.TypeFor[message](), c.PkgPath())))
	if got := hex.EncodeToString(sum[:8]); Protocol != number || got != shape {
		t.Errorf("the messages of protocol %d are %s, those of protocol %d were %s: raise Protocol, and set both here", Protocol, got,
			number, shape)
	}
}
