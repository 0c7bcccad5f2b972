package embedded

import "bytes"

// projection is a compiled projection: which fields a find returns.
type projection struct {
	none    bool // no projection: the whole document
	include bool // the paths are kept; otherwise they are left out
	id      bool // _id is kept
	paths   [][]byte
}

// compile reads a projection document. It keeps the room of an earlier one.
func (p *projection) compile(doc []byte) error {
	*p = projection{id: true, paths: p.paths[:0]}
	if p.none = isEmpty(doc); p.none {
		return nil
	}
	kinds := [2]bool{} // saw exclusions, saw inclusions
	it := walk(doc)
	for {
		key, v, ok := it.next()
		if !ok {
			break
		}
		keep, err := projectionFlag(key, v)
		if err != nil {
			return err
		}
		if string(key) == "_id" {
			p.id = keep
			continue
		}
		kinds[b2i(keep)] = true
		p.paths = append(p.paths, key)
	}
	if it.bad {
		return malformed("the projection")
	}
	if kinds[0] && kinds[1] {
		return badValue(31254, "Location31254", "a projection cannot both include and leave out fields")
	}
	p.include = kinds[1] || (!kinds[0] && p.id) // {_id: 1} alone returns only the _id
	return nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// projectionFlag reads 1, true, 0 or false.
func projectionFlag(key []byte, v value) (bool, error) {
	if bytes.HasPrefix(key, []byte{'$'}) || bytes.HasSuffix(key, []byte(".$")) {
		return false, unsupported("the projection of " + string(key))
	}
	switch {
	case v.t == tBool:
		return v.data[0] != 0, nil
	case v.isNumber():
		return v.float() != 0, nil
	}
	if v.t == tDocument && isOperators(v.data) {
		it := walk(v.data)
		name, _, _ := it.next()
		return false, unsupported("the projection operator " + string(name))
	}
	return false, unsupported("a computed projection (" + string(key) + ")")
}

// applyTo appends what is left of doc to dst. Without a projection that is a copy, which is what a
// client would have received.
func (p *projection) applyTo(dst, doc []byte) []byte {
	if p.none {
		return append(dst, doc...)
	}
	return p.project(dst, doc, p.paths, 0, true)
}

// project appends doc with the projection made. paths share their first off bytes.
func (p *projection) project(dst, doc []byte, paths [][]byte, off int, top bool) []byte {
	dst, start := beginDoc(dst)
	it := walk(doc)
	for {
		key, v, ok := it.next()
		if !ok {
			return endDoc(dst, start)
		}
		if top && string(key) == "_id" {
			if p.id {
				dst = appendElem(dst, key, v)
			}
			continue
		}
		dst = p.elem(dst, key, v, paths, off)
	}
}

// elem appends one element, if it is kept.
func (p *projection) elem(dst, key []byte, v value, paths [][]byte, off int) []byte {
	whole, below := named(paths, key, off)
	switch {
	case whole && p.include, !whole && !below && !p.include:
		return appendElem(dst, key, v)
	case !below:
		return dst
	case v.t == tDocument:
		dst = append(append(append(dst, v.t), key...), 0)
		return p.project(dst, v.data, under(paths, key, off), off+len(key)+1, false)
	case v.t == tArray:
		dst = append(append(append(dst, v.t), key...), 0)
		return p.array(dst, v.data, under(paths, key, off), off+len(key)+1)
	case p.include: // a scalar where the path goes on is not part of the result
		return dst
	}
	return appendElem(dst, key, v)
}

// array projects each document of an array; an inclusion drops its scalars.
func (p *projection) array(dst, array []byte, paths [][]byte, off int) []byte {
	dst, start := beginDoc(dst)
	n := 0
	it := walk(array)
	for {
		_, v, ok := it.next()
		if !ok {
			return endDoc(dst, start)
		}
		if v.t != tDocument && v.t != tArray && p.include {
			continue
		}
		dst = appendPosition(append(dst, v.t), n)
		n++
		switch v.t {
		case tDocument:
			dst = p.project(dst, v.data, paths, off, false)
		case tArray:
			dst = p.array(dst, v.data, paths, off)
		default:
			dst = append(dst, v.data...)
		}
	}
}

// named reports whether a path ends at key, and whether one goes on below it.
func named(paths [][]byte, key []byte, off int) (whole, below bool) {
	for _, path := range paths {
		rest := path[off:]
		if !bytes.HasPrefix(rest, key) {
			continue
		}
		if len(rest) == len(key) {
			whole = true
		} else if rest[len(key)] == '.' {
			below = true
		}
	}
	return whole && !below, below
}

// under returns the paths that go on below key.
func under(paths [][]byte, key []byte, off int) [][]byte {
	var out [][]byte
	for _, path := range paths {
		rest := path[off:]
		if len(rest) > len(key) && rest[len(key)] == '.' && bytes.HasPrefix(rest, key) {
			out = append(out, path)
		}
	}
	return out
}
