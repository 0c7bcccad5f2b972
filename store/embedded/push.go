package embedded

import (
	"strconv"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// checkPush reads the argument of a $push: one element, or a document with $each and perhaps $slice.
func (c *change) checkPush() error {
	if c.arg.t != rawbson.Document || !isOperators(c.arg.data) {
		one, start := rawbson.Open(nil)
		c.arg = value{t: rawbson.Array, data: rawbson.Close(appendElem(one, []byte("0"), c.arg), start)}
		return nil
	}
	var each value
	it := walk(c.arg.data)
	for {
		name, v, ok := it.next()
		if !ok {
			break
		}
		switch string(name) {
		case "$each":
			each = v
		case "$slice":
			c.slice = v
		default:
			return unsupported("$push with " + string(name))
		}
	}
	_, whole := c.slice.integer()
	switch {
	case it.bad:
		return malformed("the update")
	case each.t != rawbson.Array:
		return badValue(2, "BadValue", "$push of %q needs an array for $each", c.path)
	case c.slice.t != 0 && !whole:
		return badValue(2, "BadValue", "$push of %q needs a whole number for $slice", c.path)
	}
	c.arg = each
	return nil
}

// appendPushed appends key with the elements of v and of a $push. A slice n keeps the first n elements, −n the last.
func appendPushed(dst, key []byte, v value, c *change) ([]byte, error) {
	if v.t != rawbson.Array {
		return dst, badValue(2, "BadValue", "$push cannot change %q because it is not an array", key)
	}
	var all []value
	for _, array := range [][]byte{v.data, c.arg.data} {
		it := walk(array)
		for {
			_, e, ok := it.next()
			if !ok {
				break
			}
			all = append(all, e)
		}
	}
	if n, ok := c.slice.integer(); ok && n >= 0 {
		all = all[:min(n, int64(len(all)))]
	} else if ok {
		all = all[max(0, int64(len(all))+n):]
	}
	dst, start := rawbson.Open(appendName(dst, rawbson.Array, key))
	for i, e := range all {
		dst = appendElem(dst, strconv.AppendInt(nil, int64(i), 10), e)
	}
	return rawbson.Close(dst, start), nil
}
