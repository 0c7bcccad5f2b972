package rawbson

// Documents collects documents in one buffer. Its slices are valid until Reset.
type Documents struct {
	Buf  []byte // documents are appended to it
	ends []int
	docs [][]byte
}

// Reset empties the buffer.
func (d *Documents) Reset() { d.Buf, d.ends = d.Buf[:0], d.ends[:0] }

// Mark ends the document that was appended to Buf last.
func (d *Documents) Mark() { d.ends = append(d.ends, len(d.Buf)) }

// All returns the documents. It slices them only now, because Buf moves while it grows.
func (d *Documents) All() [][]byte {
	d.docs = d.docs[:0]
	start := 0
	for _, end := range d.ends {
		d.docs = append(d.docs, d.Buf[start:end:end])
		start = end
	}
	return d.docs
}
