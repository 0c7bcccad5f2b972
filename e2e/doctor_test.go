package e2e

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// testDoctor checks a running server: its properties, without its password.
func testDoctor(t *testing.T, engine, uri, password string) {
	t.Helper()
	found := doctorOf(t, uri, password)
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
