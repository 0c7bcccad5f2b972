package recorded

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// slowQuery is the number of the log lines about slow operations.
const slowQuery = 51803

// logLine is a line of the structured log of MongoDB 4.4 and later.
type logLine struct {
	Time struct {
		Date time.Time `json:"$date"`
	} `json:"t"`
	ID         int             `json:"id"`
	Connection string          `json:"ctx"`
	Attr       json.RawMessage `json:"attr"`
	Truncated  json.RawMessage `json:"truncated"` // attributes that the server shortened
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
	Reply     int64           `json:"reslen"`
	Plan      string          `json:"planSummary"`
	ErrorCode int             `json:"errCode"`
}

// isLogLine reports whether a document is a line of a structured log.
func isLogLine(doc []byte) bool {
	return bytes.HasPrefix(doc, []byte(`{"t":`)) || bytes.Contains(doc, []byte(`"attr"`)) && bytes.Contains(doc, []byte(`"ctx"`))
}

// readLogLine reads a line of the structured log of MongoDB 4.4 and later.
func (s *source) readLogLine(line []byte, yield yielder) bool {
	op := Operation{Count: 1, Form: StructuredLog}
	if !bytes.Contains(line, []byte("51803")) {
		if !json.Valid(line) {
			return yield(op, Damaged)
		}
		return yield(op, Foreign)
	}
	var l logLine
	if err := json.Unmarshal(line, &l); err != nil {
		return yield(op, Damaged)
	}
	var a logAttributes
	if l.ID != slowQuery || l.Time.Date.IsZero() {
		return yield(op, Foreign)
	}
	op.Slow = true
	if err := json.Unmarshal(l.Attr, &a); err != nil || len(a.Command) == 0 {
		return yield(op, Damaged)
	}
	op.Duration = time.Duration(a.Millis * float64(time.Millisecond))
	op.Time = l.Time.Date.Add(-op.Duration)
	if !op.datable() {
		return yield(op, Damaged)
	}
	op.Docs = max(a.Returned, a.Inserted, a.Deleted, a.Matched)
	op.Bytes, op.Plan, op.Failed = a.Reply, a.Plan, a.ErrorCode != 0
	if strings.HasPrefix(a.App, AppName) {
		return yield(op, Internal)
	}
	var cmd bson.Raw
	if err := bson.UnmarshalExtJSON(a.Command, false, &cmd); err != nil {
		return yield(op, Damaged)
	}
	db, _ := cmd.Lookup("$db").StringValueOK()
	op.Cut = shortened(l.Truncated, "command")
	return s.command(op, l.Connection, a.Namespace, db, cmd, yield)
}

// shortened reports whether the list of shortened attributes of a line names one.
func shortened(list json.RawMessage, name string) bool {
	var names map[string]json.RawMessage
	return json.Unmarshal(list, &names) == nil && names[name] != nil
}
