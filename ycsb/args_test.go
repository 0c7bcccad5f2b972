package ycsb

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseArgs(t *testing.T) {
	for _, c := range []struct {
		line string
		want Args
	}{
		{"load mongodb -P a -P b -p x=1 -threads 16 -s",
			Args{command: "load", binding: "mongodb", files: []string{"a", "b"},
				props: map[string]string{"x": "1", "threadcount": "16", "status": "true"}}},
		{"run mongodb-async -target 500 -l exp1 -p threadcount=2 -threads 4 -p mongodb.url=mongodb://h/?w=1",
			Args{command: "run", binding: "mongodb-async",
				props: map[string]string{"target": "500", "label": "exp1", "threadcount": "4", "mongodb.url": "mongodb://h/?w=1"}}},
		{"-db site.ycsb.db.MongoDbClient -P w -load", Args{command: "load", binding: "mongodb", files: []string{"w"}}},
		{"-t -db com.yahoo.ycsb.db.MongoDbClient -P w", Args{command: "run", binding: "mongodb", files: []string{"w"}}},
		{"-db site.ycsb.db.AsyncMongoDbClient -P w", Args{command: "run", binding: "mongodb-async", files: []string{"w"}}},
		{"load mongodb -load -cp lib -jvm-args -Xmx4g -jvm-args=-Xms1g -P w",
			Args{command: "load", binding: "mongodb", files: []string{"w"},
				notes: []string{"-cp is for Java and is ignored", "-jvm-args is for Java and is ignored", "-jvm-args is for Java and is ignored"}}},
		{"-s run -p a= embedded", Args{command: "run", binding: "embedded", props: map[string]string{"status": "true", "a": ""}}},
		{"--help", Args{Help: true}},
		{"--help-all", Args{Help: true}},
	} {
		got, err := ParseArgs(strings.Fields(c.line))
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		c.want.words = strings.Fields(c.line)
		if c.want.props == nil {
			c.want.props = map[string]string{}
		}
		if diff := cmp.Diff(&c.want, got, cmp.AllowUnexported(Args{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.line, diff)
		}
	}
}

func TestParseArgsErrors(t *testing.T) {
	for line, want := range map[string]string{
		"":                               "no command",
		"load":                           "no database",
		"-load -P w":                     "no database",
		"laod mongodb":                   `unknown command "laod", did you mean load?`,
		"shell mongodb":                  "mongosh",
		"run mongo":                      `unknown database "mongo", did you mean mongodb?`,
		"run cassandra-cql":              "known: mongodb, mongodb-async, embedded",
		"run mongodb -thread 4":          "did you mean -threads?",
		"run mongodb --threads=4":        "did you mean -threads?",
		"run mongodb -traget 4":          "did you mean -target?",
		"run mongodb -xyzzy":             "plimsoll ycsb --help",
		"run mongodb -threads":           "-threads needs a value: -threads n",
		"run mongodb -threads four":      "-threads takes a whole number",
		"run mongodb -P":                 "-P needs a value",
		"run mongodb -p operationcount":  "-p takes name=value",
		"run mongodb -p =3":              "-p takes name=value",
		"run mongodb workloada":          `unexpected argument "workloada"`,
		"run mongodb -load":              `"run" and "load" exclude each other`,
		"-db site.ycsb.BasicDB -P w":     `unknown database "site.ycsb.BasicDB"`,
		"run mongodb -P w -s -s -s what": `unexpected argument "what"`,
	} {
		_, err := ParseArgs(strings.Fields(line))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: got %v, want a usage error", line, err)
			continue
		}
		if text := e.Error() + " " + e.Hint; e.Kind != Usage || !strings.Contains(text, want) {
			t.Errorf("%q: kind %d, %q, want a usage error with %q", line, e.Kind, text, want)
		}
	}
}

// kindOf is the kind of an error of this package, 0 for every other.
func kindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

func FuzzParseArgs(f *testing.F) {
	f.Add("load mongodb -P a -p x=1")
	f.Add("-db site.ycsb.db.MongoDbClient -t -jvm-args=x")
	f.Add("run mongodb -threads -1 -- -")
	f.Fuzz(func(t *testing.T, line string) {
		a, err := ParseArgs(strings.Fields(line))
		if err == nil && !a.Help && (a.binding == "" || a.command == "") {
			t.Errorf("%q was accepted without a command or a database: %+v", line, a)
		}
	})
}

// propsFor reads properties from text, one per line, as from a file.
func propsFor(t *testing.T, text string) *properties {
	t.Helper()
	file := filepath.Join(t.TempDir(), "w.properties")
	if err := os.WriteFile(file, []byte("workload=site.ycsb.workloads.CoreWorkload\n"+text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, _, err := readProperties(&Args{files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPropertiesPrecedence(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "1"), filepath.Join(dir, "2")
	for file, text := range map[string]string{first: "a=file1\nb=file1\nc=file1\n", second: "b=file2\nc=file2\nworkload:x\n"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, notes, err := readProperties(&Args{files: []string{"none/workloadc", first, second}, props: map[string]string{"c": "line"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "file1", "b": "file2", "c": "line", "workload": "x", "readproportion": "1"} {
		if p.values[name] != want {
			t.Errorf("%s = %q, want %q", name, p.values[name], want)
		}
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "built-in workloadc") {
		t.Errorf("notes %q, want one about the built-in workloadc", notes)
	}
}

func TestPropertiesErrors(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("a=1\nb=\\uZZZZ\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"no workload": {nil, `"workload" is missing`},
		"no file":     {[]string{"no/such/file"}, "no/such/file"},
		"bad escape":  {[]string{bad}, "line 2"},
		"a directory": {[]string{t.TempDir()}, "directory"},
	} {
		_, _, err := readProperties(&Args{files: c.files})
		if kindOf(err) != Usage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (kind %d), want a usage error with %q", name, err, kindOf(err), c.want)
		}
	}
}

func TestMisspelledProperties(t *testing.T) {
	p := propsFor(t, "recordcont=1\nThreadcount=3\nmongodb.batchsize=1\njdbc.url=x\njdbc.batchsize=3\nhbase.table=u\n"+
		"columnfamily=f\nmongo.url=x\nmongodb.ssl=true\nfieldcount=10\nplimsoll.sed=3\n")
	want := []string{
		`the property "Threadcount" has no effect; did you mean "threadcount"?`,
		`the property "mongo.url" has no effect; did you mean "mongodb.url"?`,
		`the property "mongodb.ssl" has no effect; did you mean "mongodb.url"?`,
		`the property "plimsoll.sed" has no effect; did you mean "plimsoll.seed"?`,
		`the property "recordcont" has no effect; did you mean "recordcount"?`,
	}
	if diff := cmp.Diff(want, p.misspelled()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.values["plimsoll.strict"] = "true"
	if _, err := settingsFrom(p, false, 1); kindOf(err) != Usage {
		t.Errorf("strict: %v, want a usage error", err)
	}
}

func TestSettings(t *testing.T) {
	s, err := settingsFrom(propsFor(t, `
recordcount=1000
insertcount=300
operationcount=5000000000
threadcount=7
target=1000
maxexecutiontime=20
status=TRUE
hdrhistogram.percentiles=50,nonsense
latencytrackederrors=ERROR,NOT_FOUND
measurement.trackjvm=true
plimsoll.ycsb.version=0.17
plimsoll.seed=18446744073709551615
`), false, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s.operations != 5_000_000_000 || s.threads != 7 || s.target != 1000 || s.maxTime != 20*time.Second || !s.status {
		t.Errorf("got %+v", s)
	}
	if diff := cmp.Diff([]float64{95, 99}, s.text.Percentiles); diff != "" {
		t.Errorf("percentiles of 0.17 with an unreadable list (-want +got):\n%s", diff)
	}
	if len(s.warnings) != 2 || s.seed != 1<<64-1 || len(s.tracked.Names) != 2 {
		t.Errorf("got %+v", s)
	}
	load, err := settingsFrom(propsFor(t, "recordcount=1000\ninsertcount=300\nthreadcount=301\n"), true, 1)
	if err != nil {
		t.Fatal(err)
	}
	if load.operations != 300 || !load.fewerThreads() || load.threads != 300 || load.seed != 1 {
		t.Errorf("load: %+v", load)
	}
}

func TestSettingsErrors(t *testing.T) {
	for line, want := range map[string]string{
		"threadcount=0":                  "property threadcount: 0 is too small",
		"threadcount=many":               "property threadcount",
		"operationcount=1.5":             "property operationcount",
		"status.interval=0":              "status.interval",
		"measurementtype=hdr":            "measurementtype",
		"measurement.interval=all":       "measurement.interval",
		"exporter=site.ycsb.XMLExporter": "property exporter",
		"plimsoll.client=java":           "driver, wire",
		"plimsoll.seed=-1":               "plimsoll.seed",
		"plimsoll.timeout=10":            "plimsoll.timeout",
		"plimsoll.ycsb.version=0.16":     "plimsoll.ycsb.version",
		"maxexecutiontime=999999999999":  "maxexecutiontime",
	} {
		_, err := settingsFrom(propsFor(t, line), false, 1)
		if kindOf(err) != Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v (kind %d), want a usage error with %q", line, err, kindOf(err), want)
		}
	}
	if _, err := settingsFrom(propsFor(t, "measurementtype=raw\nmeasurement.interval=both"), false, 1); kindOf(err) != Usage {
		t.Errorf("raw with both intervals: %v, want a usage error", err)
	}
}

func TestTarget(t *testing.T) {
	for _, c := range []struct {
		props, url, database string
		notes                int
	}{
		{"", "mongodb://localhost:27017/ycsb?w=1&maxPoolSize=100", "ycsb", 0},
		{"mongodb.url=mongodb://h", "mongodb://h/?maxPoolSize=100", "ycsb", 0},
		{"mongodb.url=mongodb://h/admin", "mongodb://h/admin?maxPoolSize=100", "ycsb", 0},
		{"mongodb.url=mongodb://h1,h2:3/my%2Ddb?w=majority&journal=true", "mongodb://h1,h2:3/my%2Ddb?w=majority&journal=true&maxPoolSize=100", "my-db", 0},
		{"mongodb.url=mongodb://u:p%2F@h/db?maxPoolSize=5", "mongodb://u:p%2F@h/db?maxPoolSize=5", "db", 1},
		{"mongodb.url=mongodb+srv://h/db?MAXPOOLSIZE=50", "mongodb+srv://h/db?MAXPOOLSIZE=50", "db", 0},
		{"mongodb.url=mongodb://h/d\nmongodb.maxconnections=40", "mongodb://h/d?maxPoolSize=40", "d", 0},
		{"mongodb.url=mongodb://h/d\nmongodb.writeConcern=JOURNALED", "mongodb://h/d?journal=true&maxPoolSize=100", "d", 0},
		{"mongodb.url=mongodb://h/d\nmongodb.writeConcern=replica_acknowledged\nmongodb.readPreference=secondary_preferred",
			"mongodb://h/d?w=2&readPreference=secondaryPreferred&maxPoolSize=100", "d", 0},
		{"mongodb.writeConcern=majority", "mongodb://localhost:27017/ycsb?w=1&maxPoolSize=100", "ycsb", 1},
		{"mongodb.url=mongodb://h/d\nmongodb.writeConcern=strict", "mongodb://h/d?maxPoolSize=100", "d", 1},
		{"mongodb.url=mongodb://h/d?j=true&waitQueueMultiple=500", "mongodb://h/d?journal=true&maxPoolSize=100", "d", 1},
	} {
		u, err := targetFrom(propsFor(t, c.props), 8)
		if err != nil {
			t.Errorf("%s: %v", c.props, err)
			continue
		}
		if u.url != c.url || u.database != c.database || len(u.notes) != c.notes {
			t.Errorf("%s:\ngot  %s, database %s, notes %q\nwant %s, database %s, %d notes", c.props, u.url, u.database, u.notes, c.url, c.database, c.notes)
		}
	}
	if _, err := targetFrom(propsFor(t, "mongodb.url=localhost:27017"), 1); kindOf(err) != Usage {
		t.Errorf("an address without scheme: %v, want a usage error", err)
	}
	u, err := targetFrom(propsFor(t, "mongodb.url=mongodb://h/d"), 250)
	if err != nil || len(u.notes) != 1 || !strings.HasSuffix(u.url, "maxPoolSize=250") {
		t.Errorf("250 threads: %v, %v", u, err)
	}
}

func FuzzTarget(f *testing.F) {
	f.Add("mongodb://u:p@h1,h2:3/db?w=1&j=true;maxPoolSize=3")
	f.Add("mongodb+srv://h?")
	f.Add("mongodb:///%zz?=&&")
	f.Fuzz(func(t *testing.T, address string) {
		u, err := targetFrom(&properties{values: map[string]string{"mongodb.url": address, "mongodb.writeConcern": "journaled"}}, 3)
		if err != nil {
			return
		}
		if _, ok := u.address.Option("maxPoolSize"); !ok || u.database == "" || !strings.HasPrefix(u.url, "mongodb") {
			t.Errorf("%q became %+v", address, u)
		}
	})
}
