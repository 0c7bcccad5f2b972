package workload

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestReadProperties(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":                                  {},
		"a=1\nb:2\nc 3\nd\t4":               {"a": "1", "b": "2", "c": "3", "d": "4"},
		"a = 1\n b  :  2\n\t c \t = 3":      {"a": "1", "b": "2", "c": "3"},
		"# x=1\n! y=2\n  # z=3\n\n \t\na=1": {"a": "1"},
		"a=1 \nb=2\t":                       {"a": "1 ", "b": "2\t"},
		"a=x\\\n   y\\\n\tz\nb=1":           {"a": "xyz", "b": "1"},
		"a=x\\\n# not a comment":            {"a": "x# not a comment"},
		"a=x\\\\\nb=1":                      {"a": `x\`, "b": "1"},
		"a=x\\\\\\\ny":                      {"a": `x\y`},
		"a=x\\":                             {"a": "x"},
		"\\\n# comment\n\\":                 {},
		"a\r\nb=1\rc=2":                     {"a": "", "b": "1", "c": "2"},
		"a=1\na=2":                          {"a": "2"},
		"a\\ b\\==1\\=2\na\\:b=3":           {"a b=": "1=2", "a:b": "3"},
		"=x":                                {"": "x"},
		"a==x":                              {"a": "=x"},
		"a := x":                            {"a": "= x"},
		`a=\t\n\r\f\q\\`:                    {"a": "\t\n\r\fq\\"},
		`a=\u00e9\u20AC`:                    {"a": "é€"},
		`a=\ud83d\ude00`:                    {"a": "😀"},
		"a=${b}\nb=1":                       {"a": "${b}", "b": "1"},
		"größe=ü":                           {"größe": "ü"},
		"gr\xf6\xdfe=\xfc":                  {"größe": "ü"},
		"mongodb.url=mongodb://h:1/d?w=1&j": {"mongodb.url": "mongodb://h:1/d?w=1&j"},
	} {
		got, _, err := ReadProperties(strings.NewReader(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestReadPropertiesKeepsTheOrder(t *testing.T) {
	_, order, err := ReadProperties(strings.NewReader("b=1\na=2\nb=3\nc=4\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestReadPropertiesNamesTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"a=1\n# x\nb=\\u12":        "line 3",
		"a=1\nb=x\\\n y\nc\\uZZZZ": "line 4",
		"a=x\\\ny\\u00":            "line 1",
	} {
		if _, _, err := ReadProperties(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not say %s", text, err, want)
		}
	}
}

func TestReadPropertiesPassesReadErrorsOn(t *testing.T) {
	broken := errors.New("disk gone")
	if _, _, err := ReadProperties(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
}

// endless is a file without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestReadPropertiesStopsAtHugeFiles(t *testing.T) {
	if _, _, err := ReadProperties(io.Reader(endless{})); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("error is %v", err)
	}
}

func FuzzReadProperties(f *testing.F) {
	for _, seed := range []string{"a=1\n", "a\\\n b:c", `k=\u00e9\ud800`, "\\", "=\\\r\n=", "#\n!\x00\xff", "a\\=b c"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		props, order, err := ReadProperties(strings.NewReader(string(data)))
		if err != nil {
			return
		}
		if len(order) != len(props) {
			t.Fatalf("%d keys in order, %d properties", len(order), len(props))
		}
		for _, key := range order {
			if _, ok := props[key]; !ok {
				t.Fatalf("%q is in the order but not in the map", key)
			}
		}
		_, _, _ = ParseYCSB(props, nil)
	})
}
