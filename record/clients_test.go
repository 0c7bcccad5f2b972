package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// The checksums of a record cover those of its clients: of one that ended properly by its own checksums, of one
// that was lost by its files.
func TestClientsAreChecked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	w := newTestWriter(t, dir)
	feed(t, w, testIntervals(t, 1))
	whole := newTestWriter(t, filepath.Join(dir, ClientsDir, "00"))
	feed(t, whole, testIntervals(t, 2))
	finishTest(t, whole)
	feed(t, newTestWriter(t, filepath.Join(dir, ClientsDir, "01")), testIntervals(t, 3)) // and lost
	if err := os.WriteFile(filepath.Join(dir, ClientsDir, "01", LockFile), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.SetClients([]ClientShare{{Number: 0, Status: "complete"}, {Number: 1, Status: "lost", Problem: "told the secret " + secret}})
	finishTest(t, w)
	altered := func() string {
		r, err := OpenRun(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Clients) != 2 || strings.Contains(r.Clients[1].Problem, secret) {
			t.Errorf("clients %+v", r.Clients)
		}
		for _, f := range r.Validity {
			if f.ID == "altered" && f.Severity == measure.Invalid {
				return f.Text
			}
		}
		return ""
	}
	if err := os.Remove(filepath.Join(dir, ClientsDir, "01", LockFile)); err != nil {
		t.Fatal(err)
	}
	if text := altered(); text != "" {
		t.Errorf("nothing was changed, but: %s", text)
	}
	for _, name := range []string{"clients/00/" + EventsFile, "clients/01/" + RunFile} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append([]byte(" "), before...), 0o644); err != nil {
			t.Fatal(err)
		}
		if text := altered(); !strings.Contains(text, name) {
			t.Errorf("%s was changed, but the record has %q", name, text)
		}
		if err := os.WriteFile(path, before, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, ClientsDir)); err != nil {
		t.Fatal(err)
	}
	if text := altered(); !strings.Contains(text, "clients/00/"+SumsFile) || !strings.Contains(text, "clients/01/"+LatencyFile) {
		t.Errorf("the clients' records were removed, but the record has %q", text)
	}
}

// A list of checksums that names files elsewhere is refused.
func TestChecksumsStayInTheRecord(t *testing.T) {
	dir, _ := writeTestRecord(t)
	for _, name := range []string{"../x", "clients/../../x", "clients/00/../x", "clients/00/a/b", "/etc/passwd", "clients/x/run.json"} {
		line := strings.Repeat("0", 64) + "  " + name + "\n"
		if err := os.WriteFile(filepath.Join(dir, SumsFile), []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenRun(dir); err == nil || !strings.Contains(err.Error(), "not a line of checksums") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
