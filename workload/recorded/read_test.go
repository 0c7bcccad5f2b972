package recorded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// writes counts the updates and deletes of a database: with shape, without, and commands of which nothing is known.
func writes(m *Model, db string) string {
	with := map[string]int64{}
	for _, s := range m.Shapes() {
		if s.Database == db && (s.Verb == "update" || s.Verb == "delete") {
			with[s.Verb] += s.Count
		}
	}
	n := m.Notes(db)
	return fmt.Sprintf("%v, cut %v, unlisted %d", with, n.Cut, n.Skipped[Unlisted])
}

// TestEachWriteCountsOnce reads logs of a mongod 5.0, a mongos and a shard during the same operations of PyMongo, which
// sends statements beside the command, and of Node.js, which sends them in it: 10 updates (one of them fails, three are
// one command) and 4 deletes (two are one command). PyMongo has one more update, in a transaction.
func TestEachWriteCountsOnce(t *testing.T) {
	for _, c := range []struct{ file, db, want string }{
		{"pymongo-5.0.log", "shop", "map[delete:4 update:11], cut map[], unlisted 0"},
		{"nodejs-5.0.log", "nshop", "map[delete:4 update:10], cut map[], unlisted 0"},
		{"shard-5.0.log", "nshop", "map[delete:4 update:10], cut map[], unlisted 0"},
		{"mongos-5.0.log", "shop", "map[], cut map[], unlisted 12"},
		{"mongos-5.0.log", "nshop", "map[delete:4 update:10], cut map[], unlisted 0"},
	} {
		m := modelOf(t, Options{}, Read(bytes.NewReader(testFile(t, c.file))))
		if got := writes(m, c.db); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.file, c.db, got, c.want)
		}
	}
}

// writeLine writes a line of a connection, of a kind (WRITE or COMMAND), a second and its milliseconds, and a command.
func writeLine(connection, kind string, ended, millis int, ns, command string) string {
	return fmt.Sprintf(`{"t":{"$date":"2026-03-01T10:%02d:%02d.%03d+00:00"},"s":"I","c":"%s","id":51803,"ctx":"%s","msg":"Slow query",`+
		`"attr":{"type":"x","ns":"%s","command":%s,"durationMillis":%d}}`+"\n", ended/60000, ended/1000%60, ended%1000, kind, connection, ns,
		command, millis)
}

// shorten writes a line whose command the server has shortened.
func shorten(line string) string {
	return strings.TrimSuffix(line, "}\n") + `,"truncated":{"command":{"filter":{"type":"object","size":9000}}},"size":{"command":9000}}` + "\n"
}

// TestStatementsOfCommands mixes statements and commands of several connections, some faster than slowms.
func TestStatementsOfCommands(t *testing.T) {
	statement := `{"q":{"_id":"c1"},"u":{"$set":{"state":"open"}},"multi":false,"upsert":false}`
	whole := `{"update":"carts","updates":[{"q":{"_id":"c1"},"u":{"$set":{"state":"open"}}}],"ordered":true,"$db":"shop"}`
	number := `{"update":"carts","updates":85,"$db":"shop"}`
	beside := `{"update":"carts","ordered":true,"$db":"shop"}`
	write := func(conn string, at, millis int) string {
		return writeLine(conn, "WRITE", at, millis, "shop.carts", statement)
	}
	command := func(conn string, at, millis int, text string) string {
		return writeLine(conn, "COMMAND", at, millis, "shop.$cmd", text)
	}
	for name, c := range map[string]struct{ log, want string }{
		"statement and command":     {write("c1", 100, 120) + command("c1", 101, 121, whole), "map[update:1], cut map[], unlisted 0"},
		"a fast statement":          {command("c1", 101, 121, whole), "map[update:1], cut map[], unlisted 0"},
		"a number of fast ones":     {command("c1", 101, 121, number), "map[], cut map[update:85], unlisted 0"},
		"one of them was slow":      {write("c1", 100, 60) + command("c1", 180, 180, number), "map[update:1], cut map[update:84], unlisted 0"},
		"beside, slow":              {write("c1", 100, 120) + command("c1", 101, 121, beside), "map[update:1], cut map[], unlisted 0"},
		"beside, fast":              {command("c1", 101, 121, beside), "map[], cut map[], unlisted 1"},
		"another connection":        {write("c2", 100, 120) + command("c1", 101, 121, whole), "map[update:2], cut map[], unlisted 0"},
		"an earlier command":        {write("c1", 100, 120) + command("c1", 5101, 121, whole), "map[update:2], cut map[], unlisted 0"},
		"two connections in turn":   {write("c1", 100, 50) + write("c2", 101, 50) + command("c2", 102, 51, whole) + command("c1", 103, 53, whole), "map[update:2], cut map[], unlisted 0"},
		"a delete is not an update": {write("c1", 100, 120) + command("c1", 101, 121, `{"delete":"carts","deletes":[{"q":{"a":1},"limit":1}],"$db":"shop"}`), "map[delete:1 update:1], cut map[], unlisted 0"},
		"a command written late":    {write("c1", 100, 1) + command("c1", 400, 2, whole), "map[update:1], cut map[], unlisted 0"},
		"two of one name":           {write("c1", 100, 5) + write("c1", 101, 5) + command("c1", 102, 6, whole) + command("c1", 103, 6, whole), "map[update:2], cut map[], unlisted 0"},
		"a shortened command":       {write("c1", 100, 120) + shorten(command("c1", 101, 121, whole)), "map[update:1], cut map[], unlisted 0"},
		"a shortened statement":     {shorten(write("c1", 100, 120)) + command("c1", 101, 121, whole), "map[], cut map[update:1], unlisted 0"},
	} {
		m := modelOf(t, Options{}, Read(strings.NewReader(c.log)))
		if got := writes(m, "shop"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestProfileWithCommands reads a profile that has statements and their command, of two connections of one client.
func TestProfileWithCommands(t *testing.T) {
	var p Profiles
	m := NewModel(Options{})
	for _, text := range []string{
		`{"op":"update","ns":"shop.carts","command":{"q":{"_id":1},"u":{"$set":{"a":1}},"multi":false},"millis":5,"ts":{"$date":"2026-03-01T10:00:00.100Z"},"client":"h"}`,
		`{"op":"update","ns":"shop.carts","command":{"q":{"_id":2},"u":{"$set":{"a":1}},"multi":false},"millis":100,"ts":{"$date":"2026-03-01T10:00:00.300Z"},"client":"h"}`,
		`{"op":"command","ns":"shop.$cmd","command":{"update":"carts","updates":[{"q":{"_id":1},"u":{"$set":{"a":1}}}],"$db":"shop"},"millis":6,"ts":{"$date":"2026-03-01T10:00:00.101Z"},"client":"h"}`,
		`{"op":"command","ns":"shop.$cmd","command":{"update":"carts","updates":[{"q":{"_id":2},"u":{"$set":{"a":1}}}],"$db":"shop"},"millis":101,"ts":{"$date":"2026-03-01T10:00:00.301Z"},"client":"h"}`,
	} {
		p.Read(document(t, text), func(op *Operation, err error) {
			if err == nil {
				m.Add(op)
			} else if m.Skip(op, err) != nil {
				t.Error(err)
			}
		})
	}
	if got := writes(m, "shop"); got != "map[update:2], cut map[], unlisted 0" {
		t.Error(got)
	}
}

// TestOtherServers reads what other versions and drivers write: bulkWrite of 8.0, the text log before 4.4, a redacted
// log, and the notations of both shells.
func TestOtherServers(t *testing.T) {
	for _, name := range []string{"bulkwrite-8.0.log", "mongod-4.2.log", "redacted-5.0.log", "mongosh.txt", "shell.txt"} {
		m := modelOf(t, Options{}, Read(bytes.NewReader(testFile(t, name))))
		db := slices.Sorted(maps.Keys(m.Databases()))[0]
		f := fileOf(t, m, Source{Name: "x", From: name, Sources: m.Forms(), Database: db})
		golden(t, strings.TrimSuffix(strings.TrimSuffix(name, ".log"), ".txt")+".golden", describe(m)+"\n"+encode(t, f))
	}
}

// TestNotesAreOfOneDatabase checks that a file does not count what was not seen of other databases.
func TestNotesAreOfOneDatabase(t *testing.T) {
	log := writeLine("c1", "COMMAND", 100, 1, "shop.carts", `{"find":"carts","filter":{},"$db":"shop"}`) +
		writeLine("c1", "COMMAND", 200, 1, "other.carts", `{"insert":"carts","documents":7,"$db":"other"}`) +
		writeLine("c1", "COMMAND", 300, 1, "other.$cmd", `{"update":"carts","updates":85,"$db":"other"}`) +
		writeLine("c1", "COMMAND", 400, 1, "other.$cmd", `{"dropIndexes":"carts","index":"a","$db":"other"}`)
	m := modelOf(t, Options{}, Read(strings.NewReader(log)))
	for db, want := range map[string]bool{"shop": false, "other": true} {
		f := fileOf(t, m, Source{Name: "x", From: "x", Database: db})
		for _, text := range []string{"85 update", "documents of inserts (1 operations)", "1 dropIndexes"} {
			if got := strings.Contains(strings.Join(f.Recorded.Unseen, "\n"), text); got != want {
				t.Errorf("the file of %s has %q: %v, want %v", db, text, got, want)
			}
		}
	}
}

// wrapped are the ways in which log pipelines write lines.
var wrapped = map[string]func(lines []string) string{
	"byte-order mark": func(lines []string) string { return "\ufeff" + strings.Join(lines, "\n") },
	"UTF-16": func(lines []string) string {
		var b strings.Builder
		for _, u := range utf16.Encode([]rune("\ufeff" + strings.Join(lines, "\r\n"))) {
			b.Write([]byte{byte(u), byte(u >> 8)})
		}
		return b.String()
	},
	"syslog":         prefixed(`<14>Mar  1 10:00:00 db1 mongod[811]: `),
	"docker compose": prefixed("\x1b[36mmongo-1  | \x1b[0m"),
	"kubectl":        prefixed("[pod/mongo-0/mongod] "),
	"journald":       prefixed("Mar 01 10:00:00 db1 mongod[811]: "),
	"kubelet": func(lines []string) string {
		var b strings.Builder
		for _, line := range lines {
			for len(line) > 100 {
				b.WriteString("2026-03-01T10:00:00.123456789Z stdout P " + line[:100] + "\n")
				line = line[100:]
			}
			b.WriteString("2026-03-01T10:00:00.123456789Z stdout F " + line + "\n")
		}
		return b.String()
	},
	"Docker": func(lines []string) string {
		var b strings.Builder
		for _, line := range lines {
			for line += "\n"; line != ""; {
				part := line[:min(100, len(line))]
				line = line[len(part):]
				text, _ := json.Marshal(map[string]string{"log": part, "stream": "stdout", "time": "2026-03-01T10:00:00.123456789Z"})
				b.Write(append(text, '\n'))
			}
		}
		return b.String()
	},
	"journald as JSON": func(lines []string) string {
		var b strings.Builder
		for _, line := range lines {
			text, _ := json.Marshal(map[string]string{"MESSAGE": line, "_PID": "811", "PRIORITY": "6"})
			b.Write(append(text, '\n'))
		}
		return b.String()
	},
	"pretty-printed": func(lines []string) string {
		var b bytes.Buffer
		for _, line := range lines {
			if json.Indent(&b, []byte(line), "", "  ") != nil {
				b.WriteString(line) // a damaged one
			}
			b.WriteByte('\n')
		}
		return b.String()
	},
	"an array on one line":    func(lines []string) string { return "[" + strings.Join(lines, ",") + "]\n" },
	"an array, a line each":   func(lines []string) string { return "[" + strings.Join(lines, ",\n") + "]\n" },
	"an array of other lines": func(lines []string) string { return "[\n  " + strings.Join(lines, ",\n  ") + "\n]\n" },
}

func prefixed(prefix string) func([]string) string {
	return func(lines []string) string { return prefix + strings.Join(lines, "\n"+prefix) + "\n" }
}

// TestWrappedLines reads logs, a profile and captured commands as pipelines and exports write them: nothing is missing.
func TestWrappedLines(t *testing.T) {
	for _, file := range []string{"nodejs-5.0.log", "profile-4.4.jsonl", "commands.jsonl", "mongod-4.2.log"} {
		lines := strings.Split(strings.TrimSpace(string(testFile(t, file))), "\n")
		want := describe(modelOf(t, Options{}, Read(strings.NewReader(strings.Join(lines, "\n")))))
		for how, wrap := range wrapped {
			switch {
			case file != "nodejs-5.0.log" && (how == "journald as JSON" || strings.Contains(file, "json") && strings.Contains("syslog docker compose kubectl journald", how)):
				continue // nobody pipes them
			case strings.HasPrefix(how, "an array") && strings.HasSuffix(file, ".log") && file != "nodejs-5.0.log", how == "pretty-printed" && file == "mongod-4.2.log":
				continue // not JSON
			}
			got := describe(modelOf(t, Options{}, Read(iotest.OneByteReader(strings.NewReader(wrap(lines))))))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s of %s (-want +got):\n%s", how, file, diff)
			}
		}
	}
}

// TestCutLines checks that a damaged line costs that line only.
func TestCutLines(t *testing.T) {
	lines := strings.SplitAfter(string(testFile(t, "nodejs-5.0.log")), "\n")
	whole := modelOf(t, Options{}, Read(strings.NewReader(strings.Join(lines, "")))).Operations
	for _, at := range []int{1, 40, 150, len(lines[1]) - 2} { // lines[1] is an insert
		damaged := lines[0] + lines[1][:at] + "\n" + strings.Join(lines[2:], "")
		m := modelOf(t, Options{}, Read(strings.NewReader(damaged)))
		if n := m.Total().Skipped[Damaged]; m.Operations != whole-1 || n != 1 {
			t.Errorf("cut at %d: %d operations, want %d; %d damaged", at, m.Operations, whole-1, n)
		}
	}
	half := strings.NewReader(strings.Join(lines[:3], ""))
	m := modelOf(t, Options{}, Read(io.MultiReader(half, iotest.ErrReader(io.ErrUnexpectedEOF)))) // a cut .gz
	if m.Operations != 3 || m.Total().Skipped[Damaged] != 1 {
		t.Errorf("a cut file: %d operations, %v", m.Operations, m.Total().Skipped)
	}
	failed := errors.New("disk")
	for _, err := range Read(io.MultiReader(strings.NewReader(lines[0]), iotest.ErrReader(failed))) {
		if err != nil && !errors.Is(err, failed) {
			t.Error(err)
		}
	}
}

// TestNothing checks that a text without operations says what it has and what to do.
func TestNothing(t *testing.T) {
	find := `{"find":"carts","filter":{"a":1},"$db":"shop"}`
	for name, c := range map[string]struct{ text, db, want string }{
		"empty":        {"", "", "it is empty"},
		"binary":       {"\x00\x01\x02BSON\x00\n\x00", "", "binary data"},
		"another text": {"id,name\n1,anna\n2,bert\n", "", "3 lines of another kind"},
		"no slow query": {`{"t":{"$date":"2026-03-01T10:00:00Z"},"s":"I","c":"NETWORK","id":22943,"ctx":"l","msg":"x","attr":{}}` + "\n", "",
			"1 line of a log, but none about a slow operation"},
		"no slow query before 4.4": {"2020-05-20T20:10:08.000+0000 I  CONTROL  [init] db version v4.2.6\n", "", "none about a slow operation"},
		"all shortened":            {shorten(writeLine("c", "COMMAND", 1, 1, "shop.carts", find)), "", "maxLogSizeKB"},
		"another database":         {writeLine("c", "COMMAND", 1, 1, "shop.carts", find), "other", "1 shop. Choose one with --database"},
		"damaged":                  {writeLine("c", "COMMAND", 1, 1, "shop.carts", find)[:200], "", "damaged or cut off"},
		"redacted":                 {writeLine("c", "COMMAND", 1, 1, "shop.carts", `{"distinct":"###","key":"###","$db":"###"}`), "", "redactClientLogData"},
		"without statements":       {writeLine("c", "COMMAND", 1, 1, "shop.$cmd", `{"update":"carts","$db":"shop"}`), "", "not their statements"},
		"shortened by mongosh":     {"[\n  {\n    op: 'query',\n    ns: 'a.b',\n    command: [Object]\n  }\n]\n", "", "EJSON.stringify"},
		"only others":              {writeLine("c", "COMMAND", 1, 1, "admin.$cmd", `{"hello":1,"$db":"admin"}`), "", "1 other commands"},
	} {
		m := modelOf(t, Options{}, Read(strings.NewReader(c.text)))
		if got := m.Nothing(c.db); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s; want %s", name, got, c.want)
		}
	}
}

// TestNotation reads the values of shells and text logs.
func TestNotation(t *testing.T) {
	for text, want := range map[string]string{
		`{ a: 1, 'b': "x", c: 1.5, d: -Infinity, }`:                                     `{"a":1,"b":"x","c":1.5,"d":{"$numberDouble":"-Infinity"}}`,
		`{ r: DBRef("users", ObjectId("65f0c0a0b1c2d3e4f5a6b7c8")), n: NumberLong(5) }`: `{"r":{"$ref":"users","$id":{"$oid":"65f0c0a0b1c2d3e4f5a6b7c8"}},"n":5}`,
		`{ b: BinData(0, 00FF), t: Timestamp(5, 6), k: MaxKey }`:                        `{"b":{"$binary":{"base64":"AP8=","subType":"00"}},"t":{"$timestamp":{"t":5,"i":6}},"k":{"$maxKey":1}}`,
		`{ d: new Date(1573545600123), x: /a[/]\/b/im, u: undefined }`:                  `{"d":{"$date":"2019-11-12T08:00:00.123Z"},"x":{"$regularExpression":{"pattern":"a[/]/b","options":"im"}},"u":{"$undefined":true}}`,
	} {
		doc, rest, err := readNotation([]byte(text + " more"))
		if err != nil || string(rest) != " more" {
			t.Errorf("%s: %v, behind it %q", text, err, rest)
			continue
		}
		if got, err := bson.MarshalExtJSON(doc, false, false); err != nil || string(got) != want {
			t.Errorf("%s became %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "{", "{a}", "{a:1 b:2}", "{a: Foo(1)}", "{a: /x", "{a:'x", "{a: ObjectId('zz')}", "[1]"} {
		if _, _, err := readNotation([]byte(text)); !errors.Is(err, Damaged) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// seeds are the texts of testdata, whole and cut.
func seeds(f *testing.F, names ...string) {
	for _, name := range names {
		data := testFile(f, name)
		if len(data) > 16<<10 {
			data = data[:16<<10]
		}
		f.Add(data)
		for line := range bytes.Lines(data) {
			f.Add(line)
			f.Add(line[:len(line)*2/3])
		}
	}
}

// FuzzRead reads arbitrary texts as logs, exports and captured commands, and makes models of them.
func FuzzRead(f *testing.F) {
	seeds(f, "mongod-4.4.log", "commands.jsonl", "sharded.log", "bulkwrite-8.0.log", "mongod-4.2.log", "mongosh.txt", "shell.txt",
		"nodejs-5.0.log", "redacted-5.0.log")
	for _, wrap := range wrapped {
		f.Add([]byte(wrap(strings.Split(string(testFile(f, "commands.jsonl")), "\n"))))
		f.Add([]byte(wrap([]string{writeLine("c", "WRITE", 1, 1, "a.b", `{"q":{"a":"###"},"u":{"$inc":{"b":"###"}},"multi":"###"}`)})))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, o := range []Options{{Values: true}, {Typed: true, Names: HashedNames([]byte("k"))}} {
			m := modelOf(t, o, Read(bytes.NewReader(data)))
			describe(m)
			m.Nothing("")
		}
	})
}

// FuzzNotation reads arbitrary texts as documents. Every document of JSON is one, and a document stays the same when it
// is written as Extended JSON and read again.
func FuzzNotation(f *testing.F) {
	seeds(f, "mongosh.txt", "shell.txt", "commands.jsonl")
	for _, text := range []string{`{a:new Date(1),b:/x[/]\/y/i,c:-Infinity,d:NaN}`, `{a:BinData(0, 00ff),'b':Timestamp(1, 2),}`,
		`{"a":{"$date":"2026-03-01T10:00:00Z"}}`, `{a:DBRef("c", 5),b:MaxKey(),c:"\ud83d\ude00"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, _, err := readNotation(data)
		if err != nil {
			return
		}
		text, err := bson.MarshalExtJSON(doc, true, false)
		if err != nil {
			return // the driver cannot write it
		}
		var own bson.Raw
		if bson.UnmarshalExtJSON(text, true, &own) != nil || !bytes.Equal(doc, own) {
			return // the driver reads another value than it wrote, such as binary data of the subtype 2
		}
		again, _, err := readNotation(text)
		if err != nil || !bytes.Equal(doc, again) {
			t.Errorf("%q became %s, then %v, %v", data, text, again, err)
		}
	})
}

// FuzzDocuments reads arbitrary BSON as entries of a profile and of $queryStats, and as sampled documents.
func FuzzDocuments(f *testing.F) {
	for line := range bytes.Lines(testFile(f, "profile-4.4.jsonl")) {
		f.Add([]byte(document(f, string(line))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := NewModel(Options{Values: true})
		each := func(op *Operation, err error) {
			if m.Skip(op, err) == nil && err == nil {
				m.Add(op)
			}
		}
		var p Profiles
		p.Read(data, each)
		p.Read(data, each)
		op, err := ReadQueryStats(data)
		each(&op, err)
		d := Documents{}
		d.Add(data, m.First)
		d.At("a.b.0.c")
		describe(m)
	})
}
