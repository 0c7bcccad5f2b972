package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// With --web the page is made in the process that measures. A fault in it must end neither that process nor the record,
// and must be said.
func TestPanicOfAPageIsContained(t *testing.T) {
	dir := t.TempDir()
	release, err := record.Hold(filepath.Join(dir, "r")) // this process measures
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := os.WriteFile(filepath.Join(dir, "r", record.RunFile),
		[]byte(`{"schema_version":"`+record.SchemaVersion+`","kind":"run","status":"running"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Dir: dir})
	opened := make(chan struct{}, 100)
	s.pages.open = func(string) (*report.Source, error) {
		opened <- struct{}{}
		panic("a record that no page was made for")
	}
	// A page, and a stream whose goroutine belongs to no request.
	code, page := get(t, s, "/live/"+idOf("r"))
	if code != http.StatusInternalServerError || !strings.Contains(page, "cannot be made, because of a fault in Plimsoll") {
		t.Errorf("the page of a record that breaks it is %d: %.500s", code, page)
	}
	for range opened { // the stream looks at the record by itself
		if len(opened) == 0 {
			break
		}
	}
	listen(t, s, idOf("r"), "")
	<-opened
	<-opened
	if code, list := get(t, s, "/"); code != http.StatusOK || !strings.Contains(list, "/"+idOf("r")) {
		t.Errorf("the list is %d after it: %.300s", code, list)
	}
}
