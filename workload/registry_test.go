package workload

import (
	"io"
	"os"
	"strings"
	"testing"
)

func TestEveryWorkloadIsWhole(t *testing.T) {
	for _, n := range Names() {
		if n.Help == "" {
			t.Errorf("%s has no description", n.Name)
		}
		w := openSpec(t, Spec{Name: n.Name, Records: 10})
		if w.Name() != n.Name || w.Records() != 10 || len(w.Collections()) == 0 {
			t.Errorf("%s: name %s, %d records, collections %v", n.Name, w.Name(), w.Records(), w.Collections())
		}
		checkWorkload(t, w)
		params, err := ParamsOf(n.Name)
		if err != nil {
			t.Fatal(err)
		}
		defaults := map[string]string{}
		for _, p := range params {
			if p.Help == "" {
				t.Errorf("%s: parameter %s has no description", n.Name, p.Name)
			}
			defaults[p.Name] = p.Default
		}
		if _, err := Open(Spec{Name: n.Name, Params: defaults}); err != nil {
			t.Errorf("%s does not open with the defaults that it shows: %v", n.Name, err)
		}
	}
}

// checkWorkload checks that classes and collections of its requests are those that it declares.
func checkWorkload(t *testing.T, w Workload) {
	t.Helper()
	classes := w.Classes()
	s := w.Stream(0, 1)
	var op Op
	for range 200 {
		s.Next(&op)
		if op.Class < 0 || op.Class >= len(classes) || classes[op.Class].Part {
			t.Fatalf("%s: operation of class %d", w.Name(), op.Class)
		}
		for _, req := range op.Requests {
			if req.Class != NoClass && !classes[req.Class].Part {
				t.Fatalf("%s: request of class %s, which is no part", w.Name(), classes[req.Class].Name)
			}
			if req.Collection != w.Collections()[0] {
				t.Fatalf("%s: request to collection %q", w.Name(), req.Collection)
			}
		}
		s.Done(&op, true)
	}
}

func TestModes(t *testing.T) {
	for _, c := range []struct{ name, mode, want string }{
		{"a", "", "a"}, {"A", "core", "a"}, {"workloadb", "", "b"}, {"c", "ycsb", "ycsb-c"}, {"ycsb-d", "ycsb", "ycsb-d"},
		{"ycsb", "", "ycsb"}, {"person", "", "person"},
	} {
		w, err := Open(Spec{Name: c.name, Mode: c.mode, Records: 10})
		if err != nil {
			t.Errorf("%s in mode %q: %v", c.name, c.mode, err)
			continue
		}
		if w.Name() != c.want {
			t.Errorf("%s in mode %q is %s, want %s", c.name, c.mode, w.Name(), c.want)
		}
	}
}

func TestErrorsNameWhatIsWrong(t *testing.T) {
	type params = map[string]string
	for _, c := range []struct {
		spec Spec
		want []string
	}{
		{Spec{Name: "persn"}, []string{`"persn"`, "person"}},
		{Spec{Name: "xyzzy"}, []string{`"xyzzy"`, "a, b, c"}},
		{Spec{Name: "a", Mode: "ycbs"}, []string{"mode", `"ycbs"`, "ycsb"}},
		{Spec{Name: "a", Records: -1}, []string{"workload a", "-1"}},
		{Spec{Name: "a", Params: params{"feildcount": "3"}}, []string{`"feildcount"`, "fieldcount"}},
		{Spec{Name: "a", Params: params{"threads": "3"}}, []string{`"threads"`, "it takes"}},
		{Spec{Name: "ycsb-a", Params: params{"theta": "0.5"}}, []string{`"theta"`}},
		{Spec{Name: "person", Params: params{"pagesiz": "3"}}, []string{`"pagesiz"`, "pagesize"}},
		{Spec{Name: "a", Params: params{"fieldcount": "ten"}}, []string{"fieldcount", `"ten"`, "whole number"}},
		{Spec{Name: "a", Params: params{"fieldcount": "10 "}}, []string{"fieldcount", "blanks"}},
		{Spec{Name: "a", Params: params{"fieldlength": "3000000000"}}, []string{"fieldlength", "32 bits"}},
		{Spec{Name: "a", Params: params{"recordcount": "99999999999999999999"}}, []string{"recordcount", "64 bits"}},
		{Spec{Name: "a", Params: params{"readproportion": "half"}}, []string{"readproportion", `"half"`}},
		{Spec{Name: "a", Params: params{"readproportion": "NaN"}}, []string{"readproportion", "NaN"}},
		{Spec{Name: "a", Params: params{"readallfields": "yes"}}, []string{"readallfields", `"yes"`}},
		{Spec{Name: "a", Params: params{"requestdistribution": "zipf"}}, []string{"requestdistribution", `"zipf"`, "zipfian"}},
		{Spec{Name: "a", Params: params{"theta": "0"}}, []string{"theta"}},
		{Spec{Name: "a", Params: params{"compressibility": "1"}}, []string{"compressibility"}},
		{Spec{Name: "a", Params: params{"insertorder": "random"}}, []string{"insertorder", "ordered"}},
		{Spec{Name: "a", Params: params{"fieldcount": "20000", "fieldlength": "1000"}}, []string{"16 MiB"}},
		{Spec{Name: "a", Params: params{"minscanlength": "0"}}, []string{"minscanlength"}},
		{Spec{Name: "a", Params: params{"readproportion": "0", "updateproportion": "0"}}, []string{"proportions"}},
		{Spec{Name: "a", Params: params{"dataintegrity": "true", "fieldlengthdistribution": "uniform"}}, []string{"dataintegrity", "constant"}},
		{Spec{Name: "a", Params: params{"fieldlengthdistribution": "histogram"}}, []string{"fieldlengthhistogram"}},
		{Spec{Name: "a", Client: 2, Clients: 2}, []string{"client 2 of 2"}},
		{Spec{Name: "ycsb", Params: params{"workload": "site.ycsb.workloads.CoreWorklod"}}, []string{"CoreWorklod", "CoreWorkload"}},
		{Spec{Name: "ycsb", Params: params{"workload": "Mine"}}, []string{`"Mine"`, "supported"}},
		{Spec{Name: "ycsb", Params: params{"recordcount": "10", "insertstart": "5", "insertcount": "6"}}, []string{"recordcount", "insertstart", "insertcount"}},
		{Spec{Name: "ycsb", Params: params{"recordcount": "10", "insertstart": "10"}}, []string{"no keys to read"}},
		{Spec{Name: "ycsb", Params: params{"recordcount": "10", "insertcount": "-1"}}, []string{"insertcount"}},
		{Spec{Name: "ycsb", Params: params{"recordcount": "3", "requestdistribution": "hotspot"}}, []string{"hotspotdatafraction"}},
		{Spec{Name: "ycsb", Params: params{"mongodb.batchsize": "x"}}, []string{"mongodb.batchsize"}},
		{Spec{Name: "location", Params: params{"batchsize": "0"}}, []string{"batchsize"}},
		{Spec{Name: "catalog", Params: params{"theta": "-1"}}, []string{"theta"}},
		{Spec{Name: "person", Clients: 70000}, []string{"65536"}},
	} {
		_, err := Open(c.spec)
		if err == nil {
			t.Errorf("%+v: no error", c.spec)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%+v: the error %q does not say %q", c.spec, err, part)
			}
		}
	}
}

func TestBothClassNamesAreAccepted(t *testing.T) {
	for _, class := range []string{"site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload"} {
		if _, _, err := ParseYCSB(map[string]string{"workload": class, "recordcount": "10"}, nil); err != nil {
			t.Errorf("%s: %v", class, err)
		}
	}
}

func TestParseYCSBReadsAsJavaDoes(t *testing.T) {
	p, unknown, err := ParseYCSB(map[string]string{
		"recordcount": "+5000000000", "readallfields": "yes", "writeallfields": "True", "readproportion": " 0.5d ",
		"insertorder": "whatever", "threadcount": "8", "mongodb.url": "mongodb://x", "mongodb.batchsize": "7",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(unknown, " "); got != "mongodb.url threadcount" {
		t.Errorf("unknown names are %s", got)
	}
	if p.Records != 5_000_000_000 || p.ReadAllFields || !p.WriteAllFields || p.Read != 0.5 || !p.Ordered ||
		p.BatchSize != 7 {
		t.Errorf("parsed %+v", p)
	}
}

func TestStock(t *testing.T) {
	for _, name := range []string{"a", "B", "workloadc", "workloadF"} {
		if props, ok := Stock(name); !ok || props["recordcount"] != "1000" || props["operationcount"] != "1000" {
			t.Errorf("%s: %v", name, props)
		}
	}
	if _, ok := Stock("g"); ok {
		t.Error("there is no workload g")
	}
	if props, _ := Stock("e"); props["maxscanlength"] != "100" || props["scanproportion"] != "0.95" {
		t.Errorf("workload e is %v", props)
	}
	if props, _ := Stock("d"); props["requestdistribution"] != "latest" {
		t.Errorf("workload d is %v", props)
	}
}

// The zipfian of YCSB covers twice the inserts that it expects, so the hot keys follow operationcount.
func TestYCSBKeyRangeFollowsOperationCount(t *testing.T) {
	for _, c := range []struct {
		name       string
		operations int64
		want       int64 // size of the range
	}{
		{"ycsb-c", 1000, 1001}, {"ycsb-e", 1000, 1101}, {"ycsb-e", 10_000, 2001},
	} {
		w := openSpec(t, Spec{Name: c.name, Operations: c.operations})
		got := w.(*core).originalKeys().(acknowledged).of.(*ycsbScrambled)
		if got.min != 0 || got.n != c.want {
			t.Errorf("%s with %d operations: %d keys from %d, want %d", c.name, c.operations, got.n, got.min, c.want)
		}
	}
}

func TestHistogramOfFieldLengths(t *testing.T) {
	files := func(name string) (io.ReadCloser, error) {
		if name != "lengths.txt" {
			return nil, os.ErrNotExist
		}
		return io.NopCloser(strings.NewReader("BlockSize\t10\n0\t1\n1\t0\n2\t3\n3\t4\n")), nil
	}
	params := map[string]string{"fieldlengthdistribution": "histogram", "fieldlengthhistogram": "lengths.txt", "recordcount": "10"}
	w, err := Open(Spec{Name: "ycsb", Params: params, Open: files})
	if err != nil {
		t.Fatal(err)
	}
	// number is drawn from 0…7: 0 and 1 end in bucket 0, 2 to 4 in bucket 2, 5 to 7 in the last one,
	// which has the length of the one before it.
	counts, r := map[int64]int{}, testRandom()
	for range 80_000 {
		counts[w.(*core).newRecordMaker().lengths.next(r)]++
	}
	if len(counts) != 2 || counts[10] < 19_000 || counts[10] > 21_000 || counts[30] < 59_000 {
		t.Errorf("lengths are %v, want 10 for a quarter and 30 for the rest", counts)
	}
	params["fieldlengthhistogram"] = "missing.txt"
	if _, err := Open(Spec{Name: "ycsb", Params: params, Open: files}); err == nil {
		t.Error("a missing histogram should be an error")
	}
}

func TestParseHistogramErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "no bucket",
		"Blocksize\t10\n":       "line 1",
		"BlockSize 10\n":        "line 1",
		"BlockSize\t-1\n":       "line 1",
		"BlockSize\t10\n0\tx\n": "line 2",
		"BlockSize\t10\n1\t3\n": "line 2",
		"BlockSize\t10\n0\t0\n": "no bucket",
		"BlockSize\t10\n0\t2147483647\n1\t2147483647\n": "add up",
	} {
		if _, err := parseHistogram(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not say %q", text, err, want)
		}
	}
}

// The mode wins over the name, whichever way it is said.
func TestModeChoosesTheGenerators(t *testing.T) {
	for _, c := range []struct{ name, mode, want string }{
		{"a", "", "a"}, {"a", "core", "a"}, {"a", "ycsb", "ycsb-a"}, {"workloadb", "ycsb", "ycsb-b"},
		{"ycsb-a", "", "ycsb-a"}, {"ycsb-a", "ycsb", "ycsb-a"}, {"ycsb-a", "core", "a"},
		{"core", "ycsb", "ycsb"}, {"ycsb", "core", "core"}, {"ycsb", "", "ycsb"}, {"person", "core", "person"},
	} {
		w, err := Open(Spec{Name: c.name, Mode: c.mode, Records: 10})
		if err != nil {
			t.Errorf("%s in mode %q: %v", c.name, c.mode, err)
			continue
		}
		if w.Name() != c.want {
			t.Errorf("%s in mode %q is %s, want %s", c.name, c.mode, w.Name(), c.want)
		}
	}
}
