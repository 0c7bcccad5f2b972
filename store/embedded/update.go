package embedded

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// change is one operator on one path.
type change struct {
	path   []byte
	dotted bool // the path has several parts
	do     changeOperator
	arg    value // of push: an array of the new elements
	slice  value // of push: how many elements remain, as in MongoDB; no type: all

	// While a document is rebuilt: the part of the path that is searched in it, and whether it was found.
	part []byte
	done bool
}

type changeOperator uint8

const (
	set changeOperator = iota
	inc
	push
)

var changeOperators = map[string]changeOperator{"$set": set, "$inc": inc, "$push": push}

// update is a compiled update: operators, or a replacement if replace is set.
type update struct {
	replace []byte
	changes []change
}

// compile reads an update and reuses the memory of the last one.
func (u *update) compile(doc []byte) error {
	u.changes, u.replace = u.changes[:0], nil
	it := walk(doc)
	first := true
	for {
		key, v, ok := it.next()
		if !ok {
			break
		}
		operators := len(key) > 0 && key[0] == '$'
		if first && !operators {
			u.replace = doc
			return validReplacement(doc)
		}
		first = false
		if err := u.operator(key, v); err != nil {
			return err
		}
	}
	if it.bad {
		return malformed("the update")
	}
	if first {
		u.replace = doc
		return nil
	}
	return u.order()
}

// validReplacement refuses a replacement that has operators or is not BSON.
func validReplacement(doc []byte) error {
	it := walk(doc)
	for {
		key, _, ok := it.next()
		if !ok {
			break
		}
		if len(key) > 0 && key[0] == '$' {
			return badValue(52, "DollarPrefixedFieldName", "a replacement cannot contain the operator %s", key)
		}
	}
	if it.bad {
		return malformed("the replacement")
	}
	return nil
}

func (u *update) operator(name []byte, fields value) error {
	do, ok := changeOperators[string(name)]
	if !ok {
		if len(name) > 0 && name[0] == '$' {
			return unsupported("the update operator " + string(name))
		}
		return badValue(9, "FailedToParse", "an update cannot mix operators and the field %q", name)
	}
	if fields.t != rawbson.Document {
		return badValue(9, "FailedToParse", "%s needs a document of fields", name)
	}
	it := walk(fields.data)
	for {
		path, arg, ok := it.next()
		if !ok {
			break
		}
		c := changeOf(path, do, arg)
		if err := c.check(); err != nil {
			return err
		}
		u.changes = append(u.changes, c)
	}
	if it.bad {
		return malformed("the update")
	}
	return nil
}

func changeOf(path []byte, do changeOperator, arg value) change {
	return change{path: path, dotted: bytes.IndexByte(path, '.') >= 0, do: do, arg: arg}
}

// check refuses an invalid or unsupported change.
func (c *change) check() error {
	path := c.path
	if len(path) == 0 ||
		c.dotted && (path[0] == '.' || path[len(path)-1] == '.' || bytes.Contains(path, []byte(".."))) {
		return badValue(56, "EmptyFieldName", "the update path %q has an empty part", path)
	}
	if bytes.IndexByte(path, '$') >= 0 || hasPosition(path) {
		return unsupported("the positional update path " + string(path))
	}
	switch {
	case c.do == inc && !c.arg.isNumber():
		return unsupported("$inc of " + string(path) + " by anything but an int32, int64 or double")
	case c.do == push:
		return c.checkPush()
	}
	return nil
}

// order sorts the changes by path, so that changes under one field are neighbours. It refuses two changes of one path.
func (u *update) order() error {
	switch c := u.changes; {
	case len(c) < 2:
		return nil
	case len(c) > 2:
		slices.SortStableFunc(c, func(a, b change) int { return comparePaths(a.path, b.path) })
	case comparePaths(c[0].path, c[1].path) > 0: // two are common, and this is faster for them
		c[0], c[1] = c[1], c[0]
	}
	for i := 1; i < len(u.changes); i++ {
		a, b := u.changes[i-1].path, u.changes[i].path
		if bytes.HasPrefix(b, a) && (len(a) == len(b) || b[len(a)] == '.') {
			return badValue(40, "ConflictingUpdateOperators", "two changes of %q in one update", b)
		}
	}
	return nil
}

// comparePaths orders dotted paths part by part: the dot sorts before every other byte.
func comparePaths(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		if a[i] == '.' {
			return -1
		}
		if b[i] == '.' {
			return 1
		}
		return int(a[i]) - int(b[i])
	}
	return len(a) - len(b)
}

// apply appends the changed document to dst. old has its _id.
func (u *update) apply(dst, old []byte) ([]byte, error) {
	if u.replace != nil {
		return u.replaced(dst, old)
	}
	start := len(dst)
	dst, err := rebuild(dst, old, u.changes, 0)
	if err != nil {
		return dst, err
	}
	was, _ := lookup(old, idField)
	is, _ := lookup(dst[start:], idField)
	if !equal(was, is) {
		return dst, errImmutable()
	}
	return dst, nil
}

// replaced appends the replacement, with the _id of the old document first.
func (u *update) replaced(dst, old []byte) ([]byte, error) {
	id, _ := lookup(old, idField)
	dst, start := rawbson.Open(dst)
	dst = appendElem(dst, idField, id)
	it := walk(u.replace)
	for {
		key, v, ok := it.next()
		if !ok {
			return rawbson.Close(dst, start), nil
		}
		if !bytes.Equal(key, idField) {
			dst = appendElem(dst, key, v)
			continue
		}
		if !equal(id, v) {
			return dst, errImmutable()
		}
	}
}

func errImmutable() error {
	return badValue(66, "ImmutableField", "an update cannot change the field _id")
}

// rebuild appends doc with the changes to dst. All changes share the first off bytes of their paths. Fields keep their
// places; new ones are last, in the order of their names.
func rebuild(dst, doc []byte, changes []change, off int) ([]byte, error) {
	aim(changes, off, false)
	dst, start := rawbson.Open(dst)
	it := walk(doc)
	same := it.rest // begins with unchanged fields, which are copied in one piece
	for {
		at := len(it.rest)
		key, v, ok := it.next()
		if !ok {
			dst = append(dst, same[:len(same)-at]...)
			break
		}
		group := groupOf(changes, key)
		if group == nil {
			continue
		}
		dst = append(dst, same[:len(same)-at]...)
		var err error
		if dst, err = changeElem(dst, key, v, group, off); err != nil {
			return dst, err
		}
		same = it.rest
	}
	return rawbson.Close(appendNew(dst, changes, off), start), nil
}

// groupOf returns the changes whose next part is key, and marks them as done.
func groupOf(changes []change, key []byte) []change {
	for i := range changes {
		if !bytes.Equal(changes[i].part, key) {
			continue
		}
		j := i
		for j < len(changes) && bytes.Equal(changes[j].part, key) {
			changes[j].done = true
			j++
		}
		return changes[i:j]
	}
	return nil
}

// aim sets the part of each path that begins at off, and whether it was found.
func aim(changes []change, off int, done bool) {
	for i := range changes {
		c := &changes[i]
		c.part, c.done = c.path[off:], done
		if c.dotted {
			c.part, _, _ = bytes.Cut(c.part, dot)
		}
	}
}

// last reports whether the part at off is the last one of the path.
func (c *change) last(off int) bool { return !c.dotted || bytes.IndexByte(c.path[off:], '.') < 0 }

// changeElem appends the element key with the changes of group, whose paths go through it.
func changeElem(dst, key []byte, v value, group []change, off int) ([]byte, error) {
	if group[0].last(off) {
		switch group[0].do {
		case inc:
			return appendSum(dst, key, v, group[0].arg)
		case push:
			return appendPushed(dst, key, v, &group[0])
		}
		return appendElem(dst, key, group[0].arg), nil
	}
	if v.t != rawbson.Document {
		return dst, badValue(28, "PathNotViable", "cannot create field %q: %q is not a document",
			group[0].path, group[0].path[:off+len(key)])
	}
	dst = appendName(dst, v.t, key)
	dst, err := rebuild(dst, v.data, group, off+len(key)+1)
	aim(group, off, true)
	return dst, err
}

// appendNew appends the new fields of the changes.
func appendNew(dst []byte, changes []change, off int) []byte {
	for i := range changes {
		if !changes[i].done {
			key := changes[i].part
			dst = createElem(dst, key, groupOf(changes[i:], key), off)
		}
	}
	return dst
}

// createElem appends a new field, with the documents on its path.
func createElem(dst, key []byte, group []change, off int) []byte {
	if group[0].last(off) {
		if group[0].do == push {
			dst, _ = appendPushed(dst, key, emptyArray, &group[0]) // fails for other types only
			return dst
		}
		return appendElem(dst, key, group[0].arg) // also for $inc, which sets a missing field
	}
	dst = appendName(dst, rawbson.Document, key)
	below := off + len(key) + 1
	aim(group, below, false)
	dst, start := rawbson.Open(dst)
	dst = appendNew(dst, group, below)
	aim(group, off, true)
	return rawbson.Close(dst, start)
}

// appendSum appends key with v + by in the wider of their types. An int32 that overflows becomes an int64; an int64
// that overflows is an error.
func appendSum(dst, key []byte, v, by value) ([]byte, error) {
	a, aInt := v.integer()
	b, bInt := by.integer()
	switch {
	case v.t == rawbson.Decimal:
		return dst, unsupported("$inc of a decimal")
	case !v.isNumber():
		return dst, badValue(14, "TypeMismatch", "$inc cannot change %q because it is not a number", key)
	case !aInt || !bInt:
		dst = appendName(dst, rawbson.Double, key)
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.float()+by.float())), nil
	}
	sum := a + b
	if (sum > a) != (b > 0) {
		return dst, badValue(2, "BadValue", "$inc of %q overflows a 64-bit integer", key)
	}
	if v.t == rawbson.Int32 && by.t == rawbson.Int32 && sum >= math.MinInt32 && sum <= math.MaxInt32 {
		return binary.LittleEndian.AppendUint32(appendName(dst, rawbson.Int32, key), uint32(sum)), nil
	}
	return binary.LittleEndian.AppendUint64(appendName(dst, rawbson.Int64, key), uint64(sum)), nil
}
