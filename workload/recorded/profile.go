package recorded

import (
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// readProfile reads one document of system.profile.
func (s *source) readProfile(doc bson.Raw, yield yielder) bool {
	op := Operation{Count: 1, Form: Profile}
	ended, ok := doc.Lookup("ts").TimeOK()
	ns, named := doc.Lookup("ns").StringValueOK()
	kind, typed := doc.Lookup("op").StringValueOK()
	if !ok || !named || !typed {
		return yield(op, Foreign)
	}
	op.Duration = time.Duration(number(doc, "millis")) * time.Millisecond
	op.Time = ended.Add(-op.Duration)
	if !op.datable() {
		return yield(op, Damaged)
	}
	op.readResult(doc)
	op.Sampled = int(number(doc, "rateLimit"))
	app, _ := doc.Lookup("appName").StringValueOK()
	if strings.HasPrefix(app, AppName) {
		return yield(op, Internal)
	}
	if kind == "getmore" {
		return yield(op, GetMore)
	}
	cmd, ok := doc.Lookup("command").DocumentOK()
	if !ok {
		return yield(op, Foreign)
	}
	db, _ := cmd.Lookup("$db").StringValueOK()
	if text, ok := cmd.Lookup("$truncated").StringValueOK(); ok {
		err := op.fromCut(ns, kind, text)
		return yield(op, err)
	}
	client, _ := doc.Lookup("client").StringValueOK()
	return s.command(op, client+" "+app, ns, db, cmd, yield)
}

// readResult reads what a profiler document and a slow-query line both say.
func (op *Operation) readResult(doc bson.Raw) {
	for _, name := range []string{"nreturned", "ninserted", "ndeleted", "nMatched"} {
		if n := number(doc, name); n > 0 {
			op.Docs = n
		}
	}
	op.Bytes = max(number(doc, "responseLength"), number(doc, "reslen"))
	op.Plan, _ = doc.Lookup("planSummary").StringValueOK()
	_, err := doc.LookupErr("errCode")
	op.Failed = err == nil
}

// profileVerbs are the commands of the kinds of operations in profiles and logs.
var profileVerbs = map[string]string{"query": "find", "insert": "insert", "update": "update", "remove": "delete"}

// fromCut fills op from a command that the server shortened to a text. Only its name is used, because the text may end
// inside a value.
func (op *Operation) fromCut(ns, kind, text string) error {
	op.Cut = true
	op.Database, op.Collection, _ = strings.Cut(ns, ".")
	if op.Verb = profileVerbs[kind]; op.Verb == "" {
		name, _, _ := strings.Cut(strings.TrimLeft(text, "{ "), ":")
		op.Verb = canonical(name)
		if _, ok := verbs[op.Verb]; !ok {
			return OtherCommand
		}
	}
	return op.internal()
}

// number returns the number at a key, 0 if there is none.
func number(doc bson.Raw, path ...string) int64 {
	v, err := doc.LookupErr(path...)
	if err != nil {
		return 0
	}
	if f, ok := v.DoubleOK(); ok {
		return int64(f)
	}
	n, _ := v.AsInt64OK()
	return n
}
