package recorded

import (
	"errors"
	"io"
	"iter"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Form is what an entry of a text is.
type Form string

const (
	StructuredLog Form = "slow-query log"
	TextLog       Form = "text log" // before MongoDB 4.4
	Profile       Form = "profile"
	Captured      Form = "captured commands"
	Binary        Form = "binary data"
)

// yielder takes an operation or a [Skip]. It returns false to end the reading.
type yielder = func(Operation, error) bool

// Read reads a text that shows operations: logs of servers, exports of profiles and captured commands, as they are or
// as log pipelines wrap them. It recognizes each entry by itself. It yields an operation or a [Skip] for each entry,
// and ends after any other error.
func Read(r io.Reader) iter.Seq2[Operation, error] {
	return func(yield func(Operation, error) bool) {
		in, s := newEntries(r), source{}
		for {
			entry, document, err := in.next()
			switch {
			case err == io.EOF:
				return
			case errors.Is(err, Damaged), errors.Is(err, io.ErrUnexpectedEOF): // the second one ends a compressed file
				if !yield(Operation{}, Damaged) || !errors.Is(err, Damaged) {
					return
				}
			case err != nil:
				yield(Operation{}, err)
				return
			case len(entry) == 0:
			case !document:
				if !s.readText(entry, yield) {
					return
				}
			case !s.readDocument(entry, yield):
				return
			}
		}
	}
}

// readDocument reads an entry that is a document.
func (s *source) readDocument(entry []byte, yield yielder) bool {
	if isLogLine(entry) {
		return s.readLogLine(entry, yield)
	}
	doc, _, err := readNotation(entry)
	switch {
	case errors.Is(err, errShortened):
		return yield(Operation{Form: Profile}, Shortened)
	case err != nil:
		return yield(Operation{}, Damaged)
	}
	if _, err := doc.LookupErr("op"); err == nil {
		return s.readProfile(doc, yield)
	}
	return readCaptured(doc, yield)
}

// Profiles reads documents of system.profile in their order.
type Profiles struct{ source source }

// Read reads one document. It calls each for an operation or a [Skip].
func (p *Profiles) Read(doc bson.Raw, each func(op *Operation, err error)) {
	if doc.Validate() != nil {
		each(&Operation{Form: Profile}, Damaged)
		return
	}
	p.source.readProfile(doc, func(op Operation, err error) bool {
		each(&op, err)
		return true
	})
}
