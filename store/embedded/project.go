package embedded

import (
	"bytes"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// projection has the fields that a find returns. The _id is always one of them.
type projection struct {
	some   bool // there is a projection; otherwise the whole document is returned
	fields [][]byte
}

// compile reads a projection and reuses the memory of the last one.
func (p *projection) compile(doc []byte) error {
	*p = projection{some: !isEmpty(doc), fields: p.fields[:0]}
	if !p.some {
		return nil
	}
	it := walk(doc)
	for {
		key, v, ok := it.next()
		if !ok {
			break
		}
		switch {
		case !v.isNumber() || v.float() != 1:
			return unsupported("the projection of " + string(key) + " by anything but 1")
		case bytes.ContainsAny(key, ".$"):
			return unsupported("the projection of " + string(key) + " below a field of the document")
		}
		p.fields = append(p.fields, key)
	}
	if it.bad {
		return malformed("the projection")
	}
	return nil
}

// applyTo appends the fields of the projection to dst. Without a projection it copies doc, as a client receives it.
func (p *projection) applyTo(dst, doc []byte) []byte {
	if !p.some {
		return append(dst, doc...)
	}
	dst, start := rawbson.Open(dst)
	it := walk(doc)
	for {
		key, v, ok := it.next()
		if !ok {
			return rawbson.Close(dst, start)
		}
		if bytes.Equal(key, idField) || p.names(key) {
			dst = appendElem(dst, key, v)
		}
	}
}

func (p *projection) names(key []byte) bool {
	for _, f := range p.fields {
		if bytes.Equal(f, key) {
			return true
		}
	}
	return false
}
