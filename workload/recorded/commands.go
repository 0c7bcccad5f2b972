package recorded

import (
	"encoding/json"
	"io"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// capture is a line of the format for commands that users captured themselves.
type capture struct {
	Time    json.RawMessage `json:"time"` // RFC 3339, {"$date": …} or milliseconds since 1970
	DB      string          `json:"db"`
	Command json.RawMessage `json:"command"` // Extended JSON, relaxed or canonical
	Millis  float64         `json:"durationMillis"`
}

// ReadCommands reads captured commands, one JSON document on each line: time, db, command in Extended JSON and, if it
// is known, durationMillis. It yields an operation or a [Skip] for each line.
func ReadCommands(r io.Reader) iter.Seq2[Operation, error] { return readLines(r, readCommandLine) }

func readCommandLine(line []byte) (Operation, error) {
	op := Operation{Count: 1}
	var c capture
	if err := json.Unmarshal(line, &c); err != nil {
		return op, Damaged
	}
	if len(c.Command) == 0 || c.DB == "" {
		return op, Foreign
	}
	at, ok := timeOf(c.Time)
	var cmd bson.Raw
	if err := bson.UnmarshalExtJSON(c.Command, false, &cmd); err != nil || !ok {
		return op, Damaged
	}
	op.Time, op.Duration = at, time.Duration(c.Millis*float64(time.Millisecond))
	if !op.datable() {
		return op, Damaged
	}
	return op, op.fromCommand("", c.DB, cmd)
}

// timeOf reads a time in one of the three forms.
func timeOf(raw json.RawMessage) (time.Time, bool) {
	var millis int64
	if json.Unmarshal(raw, &millis) == nil {
		return time.UnixMilli(millis).UTC(), millis > 0
	}
	var date struct {
		Date json.RawMessage `json:"$date"`
	}
	if json.Unmarshal(raw, &date) == nil && len(date.Date) > 0 {
		var long struct {
			Millis int64 `json:"$numberLong,string"`
		}
		if json.Unmarshal(date.Date, &long) == nil && long.Millis > 0 {
			return time.UnixMilli(long.Millis).UTC(), true
		}
		raw = date.Date
	}
	var at time.Time
	err := json.Unmarshal(raw, &at)
	return at, err == nil && !at.IsZero()
}
