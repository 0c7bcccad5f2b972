package own

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// mostDocument is the largest document of MongoDB, in bytes. A template that can make a larger one is refused, so the
// memory of a value is bounded before it is made.
const mostDocument = 16 << 20

// mostInsert bounds the documents of one insert, in bytes. Stores split larger messages than the server takes.
const mostInsert = 1 << 30

// elementHead is the type of an element of an array, and the longest number that names it.
const elementHead = 1 + 9

// Each value knows the bytes that it takes at most. Variables, which have answers of the server, count as 0, because
// their sizes are not known here: [variablePath.append] bounds them.

func (c constant) most() int64   { return int64(len(c.data)) }
func (wholeValue) most() int64   { return 8 }
func (doubleValue) most() int64  { return 8 }
func (decimalValue) most() int64 { return 16 }
func (truthValue) most() int64   { return 1 }
func (dateValue) most() int64    { return 8 }
func (stepDate) most() int64     { return 8 }
func (nowDate) most() int64      { return 8 }
func (numberedID) most() int64   { return 12 }
func (randomID) most() int64     { return 12 }
func (uuidValue) most() int64    { return 21 }
func (calculated) most() int64   { return 8 }
func (variablePath) most() int64 { return 0 }
func (v *textValue) most() int64 {
	n := v.size.most()
	if v.begins != nil {
		n = max(n, int64(v.begins.size))
	}
	return n + 5
}

func (v *binaryValue) most() int64      { return v.size.most() + 5 }
func (v *optionalValue) most() int64    { return v.of.most() }
func (v *sequenceValue) most() int64    { return int64(len(v.prefix)) + max(int64(v.digits), 20) + 5 }
func (f fieldValue) most() int64        { return f.size }
func (v seeded) most() int64            { return v.of.most() }
func (v idOf) most() int64              { return v.key.most() }
func (v referenceValue) most() int64    { return v.key.most() }
func (v sameReference) most() int64     { return v.key.most() }
func (v numberedReference) most() int64 { return v.key.most() }

func (x extent) most() int64 { return x.least + x.n - 1 }

func (v *wordsValue) most() int64 {
	longest := 0
	for _, w := range v.from {
		longest = max(longest, len(w))
	}
	return v.count.most()*int64(longest+1) + 5
}

func (v *choice) most() int64 {
	var n int64
	for _, one := range v.of {
		n = max(n, one.most())
	}
	return n
}

// most cannot overflow: both factors are at most 16 Mi.
func (v *arrayValue) most() int64 { return v.count.most()*(v.of.most()+elementHead) + 5 }

func (l list) most() int64 {
	n := int64(5)
	for _, v := range l {
		n += v.most() + elementHead
	}
	return n
}

func (d *document) most() int64 { return d.size + 5 }

// most of a text takes twice the bytes of binary data, and 32 for numbers and dates.
func (f formatted) most() int64 {
	n := int64(5)
	for _, piece := range f {
		n += int64(len(piece.text))
		if piece.of != nil {
			n += max(2*piece.of.most(), 32)
		}
	}
	return n
}

// most is 0 before the field is compiled. Everything is compiled again then.
func (k *keyField) most() int64 {
	if k.value == nil || k.measured {
		return 0
	}
	k.measured = true // the field may refer to itself
	defer func() { k.measured = false }()
	return k.value.most()
}

// SizeError reports that a template can make a document that is too large.
type SizeError struct{ error }

// fits refuses a value that can have more bytes than a document of MongoDB. what is the kind of value.
func (s *scope) fits(at *yaml.Node, what string, n int64) error {
	if n <= mostDocument {
		return nil
	}
	where := strings.Trim(s.path+s.at, ".")
	if where != "" {
		where = " at " + where
	}
	return &SizeError{errorAt(at, "the %s%s can have %s, and a document of MongoDB has at most 16 MiB. Make it smaller", what, where, figure.Bytes(n))}
}
