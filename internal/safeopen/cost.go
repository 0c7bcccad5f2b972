package safeopen

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// maxCost bounds the memory of a decoded JSON document. A list of a million empty objects is a short text and needs
// much memory, because each object becomes a structure with all its fields.
const maxCost = 96 << 20 // bytes

// shortDocument is the size of a text that never needs much memory.
const shortDocument = 1 << 14 // bytes

// memberCost is the memory of a map entry without its value, and of a value of unknown type.
const memberCost = 64 // bytes

// costly adds up the memory of a document that is decoded into a type. It stops at invalid JSON, which the parser
// reports.
type costly struct {
	text []byte
	at   int
	left int64
}

// costOf returns the memory of a document that is decoded into v, and whether that is at most most.
func costOf(text []byte, v any, most int64) (cost int64, ok bool) {
	c := costly{text: text, left: most}
	c.value(reflect.TypeOf(v))
	return most - c.left, c.left >= 0
}

// next skips white space and returns the next byte, 0 at the end or when the bound is exceeded.
func (c *costly) next() byte {
	for ; c.at < len(c.text) && c.left >= 0; c.at++ {
		switch b := c.text[c.at]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// value adds a value that is decoded into t, or nil for an unknown type. Its container adds the memory of t itself.
func (c *costly) value(t reflect.Type) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
		c.left -= int64(t.Size())
	}
	if t != nil && t.Kind() != reflect.Struct && t.Kind() != reflect.Map && t.Kind() != reflect.Slice &&
		t.Kind() != reflect.Array {
		t = nil
	}
	switch c.next() {
	case '{':
		c.list('}', func() {
			key := c.word()
			if c.next() == ':' {
				c.at++
			}
			c.value(c.member(t, key))
		})
	case '[':
		var elem reflect.Type
		size := int64(memberCost)
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			elem = t.Elem()
			size = int64(elem.Size())
		}
		c.list(']', func() {
			c.left -= size
			c.value(elem)
		})
	case '"':
		c.word()
	default:
		for c.at < len(c.text) && !strings.ContainsRune(",]}", rune(c.text[c.at])) {
			c.at++
		}
	}
}

// list calls each for the elements between brackets.
func (c *costly) list(end byte, each func()) {
	c.at++
	for b := c.next(); b != 0 && b != end; b = c.next() {
		before := c.at
		each()
		if c.next() == ',' {
			c.at++
		}
		if c.at == before {
			c.at = len(c.text) // invalid JSON
		}
	}
	c.at = min(c.at+1, len(c.text))
}

// word skips a string and returns it with its quotation marks and escapes.
func (c *costly) word() []byte {
	if c.next() != '"' {
		return nil
	}
	start := c.at
	for c.at++; c.at < len(c.text) && c.text[c.at] != '"'; c.at++ {
		if c.text[c.at] == '\\' {
			c.at++
		}
	}
	c.at = min(c.at+1, len(c.text))
	return c.text[start:c.at]
}

// member returns the type of a member of an object that is decoded into t, and adds the memory of a map entry.
func (c *costly) member(t reflect.Type, key []byte) reflect.Type {
	switch {
	case t == nil:
		c.left -= memberCost
		return nil
	case t.Kind() == reflect.Map:
		c.left -= memberCost + int64(t.Elem().Size())
		return t.Elem()
	case t.Kind() != reflect.Struct:
		c.left -= memberCost
		return nil
	}
	var name string
	if json.Unmarshal(key, &name) != nil {
		return nil
	}
	m, known := fieldsOf(t)[fold(name)]
	if !known && reflect.PointerTo(t).Implements(unmarshaler) {
		c.left -= memberCost // UnmarshalJSON may keep it
	}
	return m
}

// fold makes keys equal that are equal for encoding/json.
func fold(key string) string { return strings.ToLower(strings.ToUpper(key)) }

var fieldCache sync.Map // of map[string]reflect.Type by reflect.Type

// fieldsOf returns the types of the fields of a structure by key, including those of embedded structures.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if m, ok := fieldCache.Load(t); ok {
		return m.(map[string]reflect.Type)
	}
	m := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		m[fold(name)] = f.Type
	}
	fieldCache.Store(t, m)
	return m
}
