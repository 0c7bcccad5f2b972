package record

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEnvironmentIsFoundOut(t *testing.T) {
	t.Setenv("PLIMSOLL_TEST_SECRET", "do-not-tell")
	e := NewEnvironment(map[string]string{"record": t.TempDir() + "/not/yet", "embedded": "."})
	if e.OS == "" || e.Cores <= 0 || e.Threads < 1 || e.Go == "" || len(e.Filesystems) != 2 || e.Filesystems[0].Use != "record" {
		t.Errorf("environment %+v", e)
	}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "do-not-tell") {
		t.Error("an environment variable is in the record")
	}
	t.Logf("%s", b)
}
