package mongoperf

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestParse(t *testing.T) {
	for text, want := range map[string]Config{
		`{nThreads:32,fileSizeMB:1000,r:true}`: {Threads: 32, FileSizeMB: 1000, Read: true, RecordKB: 4, Text: "{ nThreads: 32, fileSizeMB: 1000, r: true }"},
		"{ nThreads:1024, fileSizeMB:1000, mmf:false, r:true, w:true, syncDelay:60 }\n": {Threads: 1024, FileSizeMB: 1000, Read: true, Write: true, RecordKB: 4, SyncDelay: 60,
			Text: "{ nThreads: 1024, fileSizeMB: 1000, mmf: false, r: true, w: true, syncDelay: 60 }"},
		`{'r':1, "w" : 0.0 , fileSizeMB:0, recSizeKB: 8.9, }`: {Threads: 1, FileSizeMB: 1, Read: true, RecordKB: 8, Text: `{ r: 1, w: 0.0, fileSizeMB: 0, recSizeKB: 8.9 }`},
		`{w:true,mmf:true,sleepMicros:50,what:"ever"} trailing`: {Threads: 1, FileSizeMB: 1, Write: true, Mapped: true, SleepMicros: 50, RecordKB: 4, Unknown: []string{"what"},
			Text: `{ w: true, mmf: true, sleepMicros: 50, what: "ever" }`},
	} {
		got, err := parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, why := range map[string]string{
		``: "the end", `{}`: "neither r nor w", `{r:true`: "comma or }", `{r true}`: "colon", `[1]`: "instead of {", `{r:yes}`: "not a number", `{:1}`: "a key",
		`{r:true,nThreads:0}`: "bad threads field value", `{r:true,recSizeKB:64001,fileSizeMB:99}`: "recSizeKB", `{r:true,fileSizeMB:-1}`: "fileSizeMB",
		`{r:true,recSizeKB:2000}`: "does not fit", `{r:"a`: "no end", `{r:true,syncDelay:-1}`: "negative", `{r:0x1}`: "not a number", `{r:NaN}`: "not a number",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", text, err, why)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{nThreads:32,fileSizeMB:1000,r:true}`)
	f.Add(`{ 'mmf':true , "w" : 1e3, x:'a\'b' }`)
	f.Add("{'\x8d':true,\"w\":1,x:'\\b'}")
	f.Add("{'a b':true,\"w\":1,'':'\\\x01'}")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse(text)
		if err != nil {
			return
		}
		if c.Threads < 1 || c.FileSizeMB < 1 || c.RecordKB < 1 || !c.Read && !c.Write {
			t.Errorf("%q became %+v", text, c)
		}
		again, err := parse(c.Text)
		if err != nil {
			t.Fatalf("%q is shown as %q, which cannot be read: %v", text, c.Text, err)
		}
		if d := cmp.Diff(c, again); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	})
}

// The lines are those of mongoperf; only figures differ.
func TestLines(t *testing.T) {
	for name, text := range map[string]string{"direct": `{nThreads:3,fileSizeMB:2,r:true,w:true}`, "mapped": `{nThreads:2,fileSizeMB:2,r:true,mmf:true}`} {
		c, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		var out bytes.Buffer
		if _, err := Run(t.Context(), c, dir, 700*time.Millisecond, &out, func(string) {}); err != nil {
			t.Fatal(err)
		}
		got := regexp.MustCompile(`\d+ ops/sec`).ReplaceAllString(out.String(), "N ops/sec")
		got = regexp.MustCompile(`\d+ MB/sec`).ReplaceAllString(got, "N MB/sec")
		got = regexp.MustCompile(`(N ops/sec[^\n]*\n)+`).ReplaceAllString(got, "$1") // a slow machine may need more seconds
		golden := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
}
