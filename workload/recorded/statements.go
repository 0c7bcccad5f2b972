package recorded

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// source remembers the statements that a server listed, until it lists the command that had them. A mongod lists each
// statement of an update or delete, and then the command with another duration; a mongos lists only the command. Both
// lists leave out what was faster than slowms.
type source struct {
	listed map[listing][]span
	spans  int
}

// listing is a connection, as far as a source names it, and a kind of command.
type listing struct{ connection, verb string }

// span is the time of a statement, in milliseconds since 1970.
type span struct{ begin, end int64 }

// The limits of what is remembered. A command has at most 100,000 statements.
const (
	mostSpans = 1 << 20
	perList   = 100_000
)

// A statement may be outside of the time of its command, because durations are in whole milliseconds, and a line has
// the time at which it was written. A busy server writes that of a command late, so that it seems to begin late.
const (
	clockTolerance = 20 * time.Millisecond
	writtenLate    = time.Second
)

// list remembers a statement.
func (s *source) list(connection, verb string, op *Operation) {
	if s.listed == nil || s.spans >= mostSpans {
		s.listed, s.spans = map[listing][]span{}, 0
	}
	key := listing{connection, verb}
	if len(s.listed[key]) >= 2*perList { // profiles of some versions never list the command
		s.listed[key] = slices.Clone(s.listed[key][perList:])
		s.spans -= perList
	}
	s.listed[key] = append(s.listed[key], span{op.Time.UnixMilli(), op.Time.Add(op.Duration).UnixMilli()})
	s.spans++
}

// take returns how many statements of a command were listed, and forgets them with all earlier ones. The command has
// most statements, -1 if that is not known. A profile does not tell the connections of a client apart, so it may list
// the statements of several commands before the first of these commands.
func (s *source) take(connection, verb string, op *Operation, most int64) (n int64) {
	key := listing{connection, verb}
	late := writtenLate
	if most < 0 {
		late = clockTolerance
	}
	begin := op.Time.Add(-late).UnixMilli()
	end := op.Time.Add(op.Duration + clockTolerance).UnixMilli()
	var others []span
	for _, one := range slices.Backward(s.listed[key]) {
		switch {
		case one.end > end:
			others = append(others, one)
		case one.begin < begin: // nobody lists its command any more
		case most >= 0 && n >= most:
			others = append(others, one)
		default:
			n++
		}
	}
	s.spans -= len(s.listed[key]) - len(others)
	if delete(s.listed, key); len(others) > 0 {
		slices.Reverse(others)
		s.listed[key] = others
	}
	return n
}

// command reads a command that a server listed for a connection, or one of its statements. ns and db are as in
// [Operation.fromCommand]. op.Cut says that the source shortened the command. It yields each statement of a command
// whose statements were not listed.
func (s *source) command(op Operation, connection, ns, db string, cmd bson.Raw, yield yielder) bool {
	shortened := op.Cut
	elements, err := cmd.Elements()
	if err != nil || len(elements) == 0 {
		return yield(op, Damaged)
	}
	known := true
	if op.Redacted = isRedacted(elements); op.Redacted {
		if cmd, known = unredacted(cmd, ns, op.Docs); !known {
			op.Cut = true
		}
	}
	name := canonical(elements[0].Key())
	list := statementLists[name]
	if list != "" && !isStatement(elements) {
		if op.Database, op.Collection, _ = strings.Cut(ns, "."); db != "" && (name == "bulkWrite" || op.Database == "") {
			op.Database = db
		}
		if coll, ok := elements[0].Value().StringValueOK(); ok && !op.Redacted {
			op.Collection = coll
		}
		return s.resolve(op, connection, name, cmd, shortened, yield)
	}
	err = op.fromCommand(ns, db, cmd)
	if isStatement(elements) && op.Verb != "" {
		kind := op.Verb
		if name != "q" {
			kind = "bulkWrite"
		}
		s.list(connection, kind, &op)
	}
	if shortened || !known {
		op.Cut, op.Command = true, nil
	}
	return yield(op, err)
}

// statementLists are the arrays of the commands that have statements.
var statementLists = map[string]string{"update": "updates", "delete": "deletes", "bulkWrite": "ops"}

// isStatement reports whether a document is one statement of a command: {q, u}, {q, limit} or, of a bulkWrite,
// {update: 0, filter, updateMods}, {delete: 0, filter} or {insert: 0, document}.
func isStatement(elements []bson.RawElement) bool {
	switch elements[0].Key() {
	case "q":
		return true
	case "update", "delete", "insert":
		return slices.ContainsFunc(elements, func(e bson.RawElement) bool {
			return e.Key() == "filter" || e.Key() == "document"
		})
	}
	return false
}

// resolve yields what the statements that were listed do not show of a command.
func (s *source) resolve(op Operation, connection, name string, cmd bson.Raw, shortened bool, yield yielder) bool {
	op.Verb = name
	elements, _ := cmd.Elements()
	for _, e := range elements {
		if e.Key() == "autocommit" {
			op.InTxn, op.Transaction = true, transactionOf(cmd)
		}
		op.Routed = op.Routed || e.Key() == "shardVersion"
	}
	where := op
	switch {
	case name == "bulkWrite":
		database, _, _ := strings.Cut(namespaceAt(cmd, 0), ".")
		op.Database = cmp.Or(database, op.Database)
	case op.Redacted && op.Collection == "$cmd": // the collection is masked
		where.Collection, op.Cut = mask, true
	}
	if name != "bulkWrite" && where.internal() != nil {
		return yield(op, Internal)
	}
	n := int64(-1)
	var statements []bson.RawValue
	if v, err := cmd.LookupErr(statementLists[name]); err == nil && !shortened {
		if array, ok := v.ArrayOK(); ok {
			statements, _ = array.Values()
			n = int64(len(statements))
		} else if count, ok := v.AsInt64OK(); ok && count > 0 {
			n = count
		}
	}
	listed := s.take(connection, name, &op, n)
	switch {
	case n >= 0 && listed >= n || n < 0 && listed > 0:
		op.Count = max(listed, 1)
		return yield(op, Envelope)
	case listed == 0 && statements != nil && !op.Cut:
		return op.expand(name, cmd, statements, yield)
	case n > 0:
		op.Count, op.Cut, op.Command = min(n-listed, perList), true, nil
		return yield(op, nil)
	case shortened || op.Cut:
		op.Cut, op.Command = true, nil
		return yield(op, nil)
	}
	return yield(op, Unlisted)
}

// expand yields each statement of a command as an operation.
func (op *Operation) expand(name string, cmd bson.Raw, statements []bson.RawValue, yield yielder) bool {
	for _, v := range statements {
		doc, ok := v.DocumentOK()
		if !ok {
			return yield(*op, Damaged)
		}
		one, ns := *op, op.Database+"."+op.Collection
		one.Cut = false
		elements, err := doc.Elements()
		if err != nil || len(elements) == 0 || !isStatement(elements) {
			return yield(*op, Damaged)
		}
		if name == "bulkWrite" {
			i, _ := elements[0].Value().AsInt64OK()
			ns = namespaceAt(cmd, i)
		}
		err = one.fromCommand(ns, "", doc)
		if !yield(one, err) {
			return false
		}
	}
	return true
}

// namespaceAt is the namespace of a number in a bulkWrite, "" if it has none.
func namespaceAt(cmd bson.Raw, i int64) string {
	array, ok := cmd.Lookup("nsInfo").ArrayOK()
	if !ok || i < 0 {
		return ""
	}
	values, _ := array.Values()
	if i >= int64(len(values)) {
		return ""
	}
	doc, _ := values[i].DocumentOK()
	ns, _ := doc.Lookup("ns").StringValueOK()
	return ns
}

// fromStatement fills op from one statement.
func (op *Operation) fromStatement(elements []bson.RawElement) error {
	verb := elements[0].Key()
	if verb == "q" {
		verb = "delete"
		if slices.ContainsFunc(elements, func(e bson.RawElement) bool { return e.Key() == "u" }) {
			verb = "update"
		}
	}
	if op.Verb = verb; op.internal() != nil {
		return Internal
	}
	list := map[string]string{"update": "updates", "delete": "deletes", "insert": "documents"}[verb]
	var statement any
	if d := plainStatement(verb, elements); verb == "insert" && len(d) == 1 {
		statement = d[0].Value
	} else {
		statement = d
	}
	var err error
	op.Command, err = bson.Marshal(bson.D{{Key: verb, Value: op.Collection}, {Key: list, Value: bson.A{statement}}})
	return err
}

// plainStatement returns a statement with the names of update and delete commands.
func plainStatement(verb string, elements []bson.RawElement) bson.D {
	names := map[string]string{"filter": "q", "updateMods": "u"}
	var d bson.D
	for _, e := range elements {
		key := e.Key()
		if name := names[key]; name != "" {
			key = name
		}
		switch {
		case verb == "insert" && key != "document", key == verb, verb == "delete" && key == "multi":
		default:
			d = append(d, bson.E{Key: key, Value: e.Value()})
		}
	}
	if verb == "delete" && !slices.ContainsFunc(d, func(e bson.E) bool { return e.Key == "limit" }) {
		limit := int32(1)
		for _, e := range elements {
			if many, ok := e.Value().BooleanOK(); ok && e.Key() == "multi" && many {
				limit = 0
			}
		}
		d = append(d, bson.E{Key: "limit", Value: limit})
	}
	return d
}
