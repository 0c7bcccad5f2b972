package recorded

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// readCaptured reads a command that a user captured: time, db, command and, if it is known, durationMillis.
func readCaptured(doc bson.Raw, yield yielder) bool {
	op := Operation{Count: 1}
	cmd, ok := doc.Lookup("command").DocumentOK()
	db, named := doc.Lookup("db").StringValueOK()
	if !ok || !named || db == "" {
		return yield(op, Foreign)
	}
	op.Form = Captured
	at, ok := timeOf(doc.Lookup("time"))
	op.Time, op.Duration = at, time.Duration(decimal(doc.Lookup("durationMillis"))*float64(time.Millisecond))
	if !ok || !op.datable() {
		return yield(op, Damaged)
	}
	if elements, err := cmd.Elements(); err == nil && len(elements) > 0 && elements[0].Key() == "bulkWrite" {
		op.Database = db
		var s source // it has listed nothing
		return s.resolve(op, "", "bulkWrite", cmd, false, yield)
	}
	err := op.fromCommand("", db, cmd)
	return yield(op, err)
}

func decimal(v bson.RawValue) float64 {
	if f, ok := v.DoubleOK(); ok {
		return f
	}
	n, _ := v.AsInt64OK()
	return float64(n)
}

// timeOf reads a time: a date, a text as in RFC 3339, or milliseconds since 1970.
func timeOf(v bson.RawValue) (time.Time, bool) {
	if at, ok := v.TimeOK(); ok {
		return at.UTC(), true
	}
	if text, ok := v.StringValueOK(); ok {
		at, err := time.Parse(time.RFC3339Nano, text)
		return at, err == nil && !at.IsZero()
	}
	millis := int64(decimal(v))
	return time.UnixMilli(millis).UTC(), millis > 0
}
