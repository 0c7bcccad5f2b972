package recorded

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// maxLine is the longest line that is read. A line of a log has at most some 10 KiB unless maxLogSizeKB is raised; a
// captured command has at most the 16 MiB of a document.
const maxLine = 32 << 20

// slowQuery is the number of the log lines about slow operations.
const slowQuery = 51803

// logLine is a line of the structured log of MongoDB 4.4 and later.
type logLine struct {
	Time struct {
		Date time.Time `json:"$date"`
	} `json:"t"`
	ID        int             `json:"id"`
	Attr      json.RawMessage `json:"attr"`
	Truncated json.RawMessage `json:"truncated"` // attributes that the server shortened
}

// logAttributes are the attributes of a slow-query line that are not part of [Operation.readResult].
type logAttributes struct {
	Type      string          `json:"type"`
	Namespace string          `json:"ns"`
	App       string          `json:"appName"`
	Command   json.RawMessage `json:"command"`
	Millis    float64         `json:"durationMillis"`
	Returned  int64           `json:"nreturned"`
	Inserted  int64           `json:"ninserted"`
	Deleted   int64           `json:"ndeleted"`
	Matched   int64           `json:"nMatched"`
	Modified  int64           `json:"nModified"`
	Examined  int64           `json:"docsExamined"`
	Origin    json.RawMessage `json:"originatingCommand"`
	Views     json.RawMessage `json:"resolvedViews"`
	Reply     int64           `json:"reslen"`
	Plan      string          `json:"planSummary"`
	ErrorCode int             `json:"errCode"`
}

// ReadLog reads the slow-query lines of a structured log (MongoDB 4.4 and later). It yields an operation or a [Skip]
// for each line, and ends after any other error.
func ReadLog(r io.Reader) iter.Seq2[Operation, error] { return readLines(r, readLogLine) }

// readLines calls read for each line of r.
func readLines(r io.Reader, read func(line []byte) (Operation, error)) iter.Seq2[Operation, error] {
	return func(yield func(Operation, error) bool) {
		lines := lineReader{r: bufio.NewReaderSize(r, 64<<10)}
		for {
			line, err := lines.next()
			switch {
			case err == io.EOF:
				return
			case errors.Is(err, Damaged):
				if !yield(Operation{}, Damaged) {
					return
				}
			case err != nil:
				yield(Operation{}, err)
				return
			case len(bytes.TrimSpace(line)) > 0:
				if !yield(read(line)) {
					return
				}
			}
		}
	}
}

// lineReader reads lines of at most maxLine, and skips longer ones.
type lineReader struct {
	r    *bufio.Reader
	line []byte
}

// next returns the next line, valid until the next call, [Damaged] for a line that is too long, and io.EOF at the end.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if long = long || len(l.line)+len(part) > maxLine; !long {
			l.line = append(l.line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && err != io.EOF:
			return nil, err
		case long:
			l.line = nil // do not keep the memory
			return nil, Damaged
		case err == io.EOF && len(l.line) == 0:
			return nil, io.EOF
		}
		return l.line, nil
	}
}

func readLogLine(line []byte) (Operation, error) {
	op := Operation{Count: 1}
	if !bytes.Contains(line, []byte(`"attr"`)) || !bytes.Contains(line, []byte("51803")) {
		if !json.Valid(line) {
			return op, Damaged
		}
		return op, Foreign
	}
	var l logLine
	if err := json.Unmarshal(line, &l); err != nil {
		return op, Damaged
	}
	var a logAttributes
	if l.ID != slowQuery || l.Time.Date.IsZero() {
		return op, Foreign
	}
	if err := json.Unmarshal(l.Attr, &a); err != nil || len(a.Command) == 0 {
		return op, Damaged
	}
	op.Duration = time.Duration(a.Millis * float64(time.Millisecond))
	op.Time = l.Time.Date.Add(-op.Duration)
	if !op.datable() {
		return op, Damaged
	}
	op.Docs = max(a.Returned, a.Inserted, a.Deleted, a.Matched)
	if len(a.Views) > 0 {
		var doc bson.Raw
		if bson.UnmarshalExtJSON(fmt.Appendf(nil, `{"v": %s}`, a.Views), false, &doc) == nil {
			views, _ := doc.Lookup("v").ArrayOK()
			op.resolve(views)
		}
	}
	op.Modified, op.Examined, op.Results = a.Modified, a.Examined, true
	op.Bytes, op.Plan, op.Failed = a.Reply, a.Plan, a.ErrorCode != 0
	if strings.HasPrefix(a.App, AppName) {
		return op, Internal
	}
	var cmd bson.Raw
	if err := bson.UnmarshalExtJSON(a.Command, false, &cmd); err != nil {
		return op, Damaged
	}
	db, _ := cmd.Lookup("$db").StringValueOK()
	err := op.fromCommand(a.Namespace, db, cmd)
	if err == GetMore && len(a.Origin) > 0 {
		var origin bson.Raw
		if bson.UnmarshalExtJSON(a.Origin, false, &origin) == nil && op.continues(cmd, origin) {
			err = nil
		}
	}
	if err == nil && shortened(l.Truncated, "command") {
		op.Cut, op.Command = true, nil
	}
	return op, err
}

// shortened reports whether the list of shortened attributes of a line names one.
func shortened(list json.RawMessage, name string) bool {
	var names map[string]json.RawMessage
	return json.Unmarshal(list, &names) == nil && names[name] != nil
}
