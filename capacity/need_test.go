package capacity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/record"
)

func TestParseNeed(t *testing.T) {
	for text, want := range map[string]record.SizeNeed{
		"ops=50000,p99<20ms,data=2TiB":   {Operations: 50000, Data: 2 << 40, Objectives: []string{"p99<20ms"}, Failures: 1, Free: 0.2},
		" ops = 50k/s , data=500GB ,":    {Operations: 50000, Data: 500e9, Failures: 1, Free: 0.2},
		"data=1GiB,copies=3,failures=0":  {Data: 1 << 30, Copies: 3, Free: 0.2},
		"ops=1,free=35%,update.p99<=1s":  {Operations: 1, Free: 0.35, Failures: 1, Objectives: []string{"update.p99<=1s"}},
		"ops=1,errors<0.1%,achieved>99%": {Operations: 1, Free: 0.2, Failures: 1, Objectives: []string{"errors<0.1%", "achieved>99%"}},
	} {
		got, err := ParseNeed(text)
		want.Text = strings.TrimSpace(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if d := cmp.Diff(want, got.SizeNeed); d != "" {
			t.Errorf("%q:\n%s", text, d)
		}
		if len(got.objectives) != len(want.Objectives) {
			t.Errorf("%q: %d objectives can be evaluated, want %d", text, len(got.objectives), len(want.Objectives))
		}
	}
}

func TestParseNeedMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "neither operations nor data",
		"p99<20ms":            "neither",
		"opps=5":              "did you mean ops?",
		"dat=2TiB":            "did you mean data?",
		"rate=5000":           "did you mean ops?",
		"replicas=3,ops=1":    "did you mean copies?",
		"size=2TiB":           "did you mean data?",
		"xylophone=2":         "known: ops, data, copies, failures, free",
		"ops=50x":             "50x",
		"ops=0":               "need no deployment",
		"ops=inf":             "ops=inf",
		"ops=NaN":             "ops=NaN",
		"ops=1e13":            "need no deployment",
		"ops=-5":              "-5",
		"ops=":                "ops=",
		"ops=5,ops=6":         "twice",
		"ops<5000":            "write ops=",
		"ops>=5000":           "write ops=",
		"data=2":              "forget the unit",
		"data=400000TiB":      "At most 128PiB",
		"data=2tib":           "did you mean TiB?",
		"data=2 bananas":      "not a unit of size",
		"ops=1,p99=20ms":      "did you mean p99<…?",
		"ops=1,errors=1%":     "did you mean errors<…?",
		"ops=1,p99==20ms":     "never equal to a limit",
		"ops=1,p99<20":        "not a time with a unit",
		"ops=1,p999999<20":    "not a percentile",
		"ops=1,pp99<20ms":     "unknown metric",
		"ops=1,rate>500":      "write ops=",
		"ops=1,copies=0":      "from 1 to 50",
		"ops=1,copies=2.5":    "not a whole number",
		"ops=1,failures=-1":   "from 0 to",
		"ops=1,free=95%":      "from 0 to 90%",
		"ops=1,free=lots":     "not a share",
		"ops=1,20ms":          "not of the form",
		"ops=1,p99<20ms<30ms": "p99<20ms<30ms",
		"ops=99999999999999999999999999999999999999999999e9999": "ops=",
	} {
		_, err := ParseNeed(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line with %q", text, err, want)
		}
	}
}

// Whatever is written, a need is refused or whole; and what it says of itself can be read again to the same.
func FuzzParseNeed(f *testing.F) {
	for _, s := range []string{"ops=50000,p99<20ms,data=2TiB", "data=1GiB,copies=3,failures=0,free=10%", "ops=1e3,read.service.p99.9<=5ms", "ops==1", ",,=<>", "ops=1,a.b.c<1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseNeed(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error that says nothing")
			}
			return
		}
		if !(n.Operations > 0 || n.Data >= 1<<20 && n.Data <= 1<<57) || n.Operations < 0 || n.Copies < 0 ||
			n.Failures < 0 || !(n.Free >= 0 && n.Free <= 0.9) {
			t.Errorf("%q gives %+v", text, n.SizeNeed)
		}
		again, err := ParseNeed(n.Text)
		if err != nil {
			t.Fatalf("%q was read, but not again: %v", n.Text, err)
		}
		if d := cmp.Diff(n.SizeNeed, again.SizeNeed); d != "" {
			t.Error(d)
		}
	})
}
