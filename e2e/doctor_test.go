package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// testDoctor checks a running server: its properties, without its password.
func testDoctor(t *testing.T, engine, uri, password string) {
	t.Helper()
	e := plimsoll(t, "doctor", ".", "--uri", uri, "--format", "json")
	if e.code != 0 && e.code != 4 && e.code != 6 { // findings about this machine do not matter here
		t.Fatalf("doctor ended with %d\n%s", e.code, e.stderr)
	}
	if strings.Contains(e.stdout+e.stderr, password) {
		t.Error("the doctor tells the password")
	}
	var d record.Doctor
	if err := json.Unmarshal([]byte(e.stdout), &d); err != nil {
		t.Fatalf("%v\n%s", err, e.stdout)
	}
	found := map[string]record.DoctorFinding{}
	for _, f := range d.Findings {
		if f.Area == "server" {
			found[f.ID] = f
		}
	}
	want := map[string]string{"version": "", "journal": record.DoctorGood, "cache-size": ""}
	if engine == spec.LabDocumentDB {
		want = map[string]string{"engine": record.DoctorGood, "cache-size": record.DoctorUnknown,
			"journal": record.DoctorUnknown, "default-write-concern": record.DoctorAdvice}
		if is := found["engine"].Is; !strings.Contains(is, "FerretDB v2.") || !strings.Contains(is, "PostgreSQL ") || !strings.Contains(is, "DocumentDB ") {
			t.Errorf("the engine is %q", is)
		}
	}
	for id, severity := range want {
		if f, ok := found[id]; !ok || severity != "" && f.Severity != severity {
			t.Errorf("%s: %+v, want %q", id, f, severity)
		}
	}
	if f, refused := found["server-answers"]; refused {
		t.Errorf("some questions were not answered: %s", f.Is)
	}
}
