package recorded

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
)

// textLine is the begin of a line of the log before MongoDB 4.4, behind whatever a log pipeline puts before it: time,
// severity, component, connection.
var textLine = expression.New(`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\S*)\s+[FEWID][1-5]?\s+(\w+|-)\s+\[([^\]]*)\] `)

// textCounts are the numbers of a line.
var textCounts = expression.New(`\b(nreturned|ninserted|ndeleted|nMatched|reslen):(\d+)`)

// statementKinds are the first words of lines about operations.
var statementKinds = map[string]bool{"command": true, "query": true, "getmore": true, "insert": true, "update": true, "remove": true}

// readText reads a line of the log before MongoDB 4.4:
//
//	TIME I COMMAND [conn1] command DB.COLL appName: "…" command: find { find: "…", filter: { … } } … nreturned:3 120ms
func (s *source) readText(line []byte, yield yielder) bool {
	op := Operation{Count: 1}
	found := textLine().FindSubmatchIndex(line[:min(len(line), 500)])
	if found == nil {
		if bytes.IndexByte(line, 0) >= 0 {
			op.Form = Binary
		}
		return yield(op, Foreign)
	}
	op.Form = TextLog
	part := func(n int) string { return string(line[found[2*n]:found[2*n+1]]) }
	rest := string(line[found[1]:])
	const cut = "printing beginning and end ... "
	_, whole, shortened := strings.Cut(rest, cut)
	if shortened {
		rest = whole
	}
	kind, after, _ := strings.Cut(rest, " ")
	ns, after, _ := strings.Cut(after, " ")
	millis, took := textDuration(after)
	if !statementKinds[kind] || !took {
		return yield(op, Foreign)
	}
	op.Slow = true
	ended, err := time.Parse("2006-01-02T15:04:05.000Z0700", part(1))
	if err != nil {
		return yield(op, Damaged)
	}
	op.Duration = time.Duration(millis) * time.Millisecond
	if op.Time = ended.Add(-op.Duration); !op.datable() {
		return yield(op, Damaged)
	}
	if strings.HasPrefix(after, `appName: "`+AppName) {
		return yield(op, Internal)
	}
	if kind == "getmore" {
		return yield(op, GetMore)
	}
	cmd, name, tail, err := textCommand(kind, ns, after)
	if err != nil && shortened {
		err = op.fromCut(ns, kind, "{ "+name+":")
		return yield(op, err)
	}
	if err != nil {
		return yield(op, err)
	}
	op.readTextResult(tail)
	return s.command(op, part(3), ns, "", cmd, yield)
}

// textDuration reads the time at the end of a line, such as 120ms.
func textDuration(line string) (millis int64, ok bool) {
	digits, ok := strings.CutSuffix(line, "ms")
	if !ok {
		return 0, false
	}
	millis, err := strconv.ParseInt(digits[strings.LastIndexByte(digits, ' ')+1:], 10, 40)
	return millis, err == nil
}

// readTextResult reads what a line has behind its command.
func (op *Operation) readTextResult(tail string) {
	for _, m := range textCounts().FindAllStringSubmatch(tail, -1) {
		n, _ := strconv.ParseInt(m[2], 10, 64)
		if m[1] == "reslen" {
			op.Bytes = n
		} else {
			op.Docs = max(op.Docs, n)
		}
	}
	op.Failed = strings.Contains(tail, " exception: ") || strings.Contains(tail, " errCode:")
	if _, plan, ok := strings.Cut(tail, "planSummary: "); ok {
		op.Plan, _, _ = strings.Cut(plan, " keysExamined:")
	}
}

// textCommand returns the command of a line, its name and the text behind it. Before MongoDB 3.6, lines of queries and
// writes have the query and the update instead.
func textCommand(kind, ns, line string) (cmd bson.Raw, name, tail string, err error) {
	label := func(name string) (doc bson.Raw, before, rest string, err error) {
		at := strings.Index(" "+line, " "+name+": ")
		if at < 0 {
			return nil, "", line, Foreign
		}
		text := line[at+len(name)+2:]
		begin := strings.IndexByte(text, '{')
		if begin < 0 {
			return nil, "", line, Damaged
		}
		doc, behind, err := readNotation([]byte(text[begin:]))
		return doc, strings.TrimSpace(text[:begin]), string(behind), err
	}
	if cmd, name, tail, err = label("command"); err != Foreign {
		return cmd, name, tail, err
	}
	query, _, tail, err := label("query")
	if err != nil {
		return nil, kind, line, err
	}
	_, coll, _ := strings.Cut(ns, ".")
	var d bson.D
	switch kind {
	case "query":
		if inner, ok := query.Lookup("$query").DocumentOK(); ok {
			query = inner
		}
		d = bson.D{{Key: "find", Value: coll}, {Key: "filter", Value: query}}
	case "update":
		change, _, behind, err := label("update")
		if err != nil {
			return nil, kind, line, err
		}
		tail = behind
		d = bson.D{{Key: "q", Value: query}, {Key: "u", Value: change}}
	case "remove":
		d = bson.D{{Key: "q", Value: query}, {Key: "limit", Value: 0}}
	default:
		return nil, kind, line, Foreign
	}
	cmd, err = bson.Marshal(d)
	return cmd, kind, tail, err
}
