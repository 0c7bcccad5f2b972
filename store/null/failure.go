package null

import "go.mongodb.org/mongo-driver/v2/bson"

// Form is the place of a [Failure] in a reply, or the lack of a reply.
type Form uint8

const (
	// CommandFailure refuses the whole command: {ok: 0, code, codeName, errmsg}.
	CommandFailure Form = iota
	// WriteFailure reports the first statement of a write as failed: {ok: 1, n: 0, writeErrors: […]}.
	WriteFailure
	// ConcernFailure reports a write as done but not confirmed: {ok: 1, n, writeConcernError: {…}}.
	ConcernFailure
	// DropConnection closes the connection instead of answering.
	DropConnection
	// NoAnswer keeps the connection open and never answers on it again.
	NoAnswer
)

// Failure is an answer other than the canned one.
type Failure struct {
	Form    Form
	Code    int32
	Name    string // the server's name for the code
	Message string
	Labels  []string
	Docs    int // ConcernFailure, WriteFailure: the n that is reported
}

// FailNth returns an [Options.Fail] that fails the operations with the given numbers, counted from 0.
func FailNth(f Failure, numbers ...uint64) func(n uint64, command string) *Failure {
	chosen := make(map[uint64]bool, len(numbers))
	for _, n := range numbers {
		chosen[n] = true
	}
	return func(n uint64, _ string) *Failure {
		if chosen[n] {
			return &f
		}
		return nil
	}
}

func (f *Failure) document() []byte {
	var d bson.D
	detail := bson.D{{Key: "code", Value: f.Code}, {Key: "codeName", Value: f.Name}, {Key: "errmsg", Value: f.Message}}
	switch f.Form {
	case WriteFailure:
		detail = append(bson.D{{Key: "index", Value: int32(f.Docs)}}, detail...)
		d = bson.D{{Key: "n", Value: int32(f.Docs)}, {Key: "writeErrors", Value: bson.A{detail}}}
	case ConcernFailure:
		d = bson.D{{Key: "n", Value: int32(f.Docs)}, {Key: "writeConcernError", Value: detail}}
	default:
		d = bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: f.Message},
			{Key: "code", Value: f.Code}, {Key: "codeName", Value: f.Name}}
	}
	if len(f.Labels) > 0 {
		d = append(d, bson.E{Key: "errorLabels", Value: f.Labels})
	}
	if f.Form == WriteFailure || f.Form == ConcernFailure {
		d = append(d, bson.E{Key: "ok", Value: 1.0})
	}
	return document(d)
}
