package recorded

import (
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Operation is one operation as a source showed it.
type Operation struct {
	Time       time.Time     // when it began, by the server's clock
	Duration   time.Duration // in the server
	Database   string
	Collection string
	Verb       string // name of the command
	// Command is the command as a driver sends it, with one statement where a source shows statements, and without
	// session, cluster time and transaction. Nil if the source cut it.
	Command bson.Raw
	Count   int64 // executions: 1, or more for statistics
	Docs    int64 // returned, inserted, matched or deleted documents
	Bytes   int64 // of the reply
	Plan    string
	Failed  bool
	InTxn   bool // it was part of a transaction
	Routed  bool // a mongos sent it to this shard
	Cut     bool // the source cut the command, so its shape is unknown
	NoDocs  bool // an insert whose documents the source does not show
	Sampled int  // the source shows one in this many operations; 0 and 1: all
	// Redacted says that the source has ### in place of values. Types, options and directions of sorts are not known.
	Redacted bool
	Form     Form // of the entry
	Slow     bool // the entry is a line of a log about a slow operation
	// Moved are the collections of other databases that the pipeline named. They have these names in Command.
	Moved []string
}

// Skip says why an entry of a source is not an operation of the workload.
type Skip string

func (s Skip) Error() string { return string(s) }

const (
	Foreign      Skip = "not an operation"                     // another line or document
	Damaged      Skip = "damaged or cut off"                   // not readable
	GetMore      Skip = "further batches of a cursor"          // part of the operation that opened it
	Shortened    Skip = "shortened by the shell"               // an export that lacks the inner documents
	Envelope     Skip = "commands whose statements are listed" // update and delete commands in a log
	Unlisted     Skip = "commands whose statements are not shown"
	Internal     Skip = "operations of the server or of Plimsoll"
	OtherCommand Skip = "other commands"       // without data of a collection
	TxnEnd       Skip = "ends of transactions" // commits and aborts
)

// verbs are the commands that are operations of a workload, with the field that has their filter.
var verbs = map[string]string{
	"find": "filter", "aggregate": "", "count": "query", "distinct": "query", "insert": "", "update": "", "delete": "",
	"findAndModify": "query",
}

// canonical is the name of a command that has several.
func canonical(name string) string {
	if strings.EqualFold(name, "findandmodify") {
		return "findAndModify"
	}
	return name
}

// AppName is the name by which the connections of a recording appear in profiles and logs.
const AppName = "plimsoll record"

// sessionFields are fields of commands that say nothing of their work.
var sessionFields = map[string]bool{
	"lsid": true, "txnNumber": true, "$clusterTime": true, "$db": true, "startTransaction": true, "autocommit": true,
	"$audit": true, "$client": true, "$configServerState": true, "$topologyTime": true, "shardVersion": true,
	"databaseVersion": true, "comment": true, "apiVersion": true, "apiStrict": true, "apiDeprecationErrors": true,
	"clientOperationKey": true, "mayBypassWriteBlocking": true, "$oplogQueryData": true, "$replData": true,
	"maxTimeMSOpOnly": true, "fromMongos": true, "needsMerge": true, "runtimeConstants": true,
	"fromRouter": true, "$configTime": true, "use44SortKeys": true, "useNewUpsert": true, "collectionUUID": true,
	"versionContext": true,
}

// datable reports whether files can hold the time of an operation. JSON has no years beyond 9999.
func (op *Operation) datable() bool {
	began, ended := op.Time.Year(), op.Time.Add(op.Duration).Year()
	return min(began, ended) >= 0 && max(began, ended) <= 9999
}

// fromCommand fills op from a command in database db, or from a statement of one. ns is the namespace that the source
// names, "" if it names none.
func (op *Operation) fromCommand(ns, db string, cmd bson.Raw) error {
	elements, err := cmd.Elements()
	if err != nil || len(elements) == 0 {
		return Damaged
	}
	name := canonical(elements[0].Key())
	if op.Database, op.Collection, _ = strings.Cut(ns, "."); op.Database == "" {
		op.Database = db
	}
	switch name {
	case "getMore":
		return GetMore
	case "commitTransaction", "abortTransaction":
		return TxnEnd
	}
	if isStatement(elements) {
		return op.fromStatement(elements)
	}
	op.Verb = name
	if _, ok := verbs[name]; !ok {
		return OtherCommand
	}
	if coll, ok := elements[0].Value().StringValueOK(); ok {
		op.Collection = coll
	} else if name == "aggregate" { // {aggregate: 1} works on a database
		return OtherCommand
	}
	if err := op.internal(); err != nil {
		return err
	}
	var out bson.D
	seen := map[string]bool{}
	for _, e := range elements {
		key := e.Key()
		op.InTxn = op.InTxn || key == "autocommit"
		op.Routed = op.Routed || key == "shardVersion"
		if sessionFields[key] || seen[key] {
			continue
		}
		if key == "$readPreference" && op.defaultPreference(e.Value()) {
			continue
		}
		seen[key] = true
		out = append(out, bson.E{Key: key, Value: e.Value()})
	}
	out[0].Key = name
	if list := statementLists[name]; list != "" && !seen[list] {
		return Unlisted
	}
	if _, shown := cmd.Lookup("documents").ArrayOK(); name == "insert" && !shown { // some logs have their number
		op.NoDocs = true
		out = slices.DeleteFunc(out, func(e bson.E) bool { return e.Key == "documents" })
	}
	if op.Command, err = bson.Marshal(out); err != nil {
		return err
	}
	return op.stay()
}

// defaultPreference reports whether a read preference is the one that drivers send where none was asked for.
func (op *Operation) defaultPreference(v bson.RawValue) bool {
	doc, ok := v.DocumentOK()
	if !ok {
		return true
	}
	mode, _ := doc.Lookup("mode").StringValueOK()
	return mode == "primary" || mode == "primaryPreferred" // what drivers send to a direct connection
}

// internal returns [Internal] for databases and collections that belong to the server.
func (op *Operation) internal() error {
	switch op.Database {
	case "admin", "config", "local", "":
		return Internal
	}
	if op.Collection == "" || strings.HasPrefix(op.Collection, "system.") || strings.HasPrefix(op.Collection, "$cmd") {
		return Internal
	}
	return nil
}
