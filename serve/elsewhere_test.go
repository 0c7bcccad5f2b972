package serve

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// Records elsewhere are listed and found beside those of the folder, also before the folder exists, and leave the list
// when they are removed. Two of the same name are two records.
func TestRecordsElsewhere(t *testing.T) {
	top := t.TempDir()
	var outer []string
	for _, name := range []string{"a/r", "b/r"} {
		dir := filepath.Join(top, name)
		if _, err := (recordtest.Study{Workers: []int{8, 16}, Blocks: 2}).Write(dir); err != nil {
			t.Fatal(err)
		}
		outer = append(outer, dir)
	}
	l, err := openLibrary(filepath.Join(top, "plimsoll-data"), true, func() []string { return append(outer, filepath.Join(top, "gone")) })
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	list := l.list()
	if len(list) != 2 || list[0].ID == list[1].ID || list[0].Figure == "" {
		t.Fatalf("%+v", list)
	}
	for _, e := range list {
		found, dir, ok := l.find(e.ID)
		if !ok || dir != e.Place || l.dirOf(found) != dir || l.folderOf(e) == nil {
			t.Errorf("%+v is found at %s: %v", e, dir, ok)
		}
	}
	if _, err := (recordtest.Drill{Rounds: 1}).Write(filepath.Join(top, "plimsoll-data", "d")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(outer[0]); err != nil {
		t.Fatal(err)
	}
	list = Inside(l.list(), "") // without the round of the drill
	if len(list) != 2 {
		t.Errorf("%+v", list)
	}
	for _, e := range list {
		if e.Kind == "drill" && (e.Place != "d" || e.root != "" || e.Figure == "") {
			t.Errorf("%+v", e)
		}
	}
}
