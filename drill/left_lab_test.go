package drill

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// labs is a machine with at most one lab, which notes what is asked of it.
type labs struct {
	have *record.Lab
	did  []string
}

func (l *labs) Find(context.Context, string) (*record.Lab, error) { return l.have, nil }

func (l *labs) Up(_ context.Context, asked spec.Lab) error {
	l.did = append(l.did, "up "+asked.Labels[labLabel])
	return nil
}

func (l *labs) Down(_ context.Context, name string) error {
	l.did = append(l.did, "down "+name)
	return nil
}

// A lab that a drill left is removed by the next one, and no other lab is.
func TestLeft(t *testing.T) {
	asked := spec.Drill{Lab: &spec.Lab{Name: "mine"}}
	written := func(name string, status record.Status) string {
		t.Helper()
		dir := t.TempDir()
		s := spec.Drill{Lab: &spec.Lab{Name: name}}
		w, err := record.CreateDrill(dir, s)
		if err == nil {
			err = w.Write(&record.Drill{Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindDrill,
				Status: status}, Specification: s})
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	goesOn := written("mine", record.Running)
	release, err := record.Hold(goesOn)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for _, c := range []struct{ dir, want string }{
		{written("mine", record.Running), ""}, // and nobody holds it: killed
		{written("mine", record.Complete), ""},
		{goesOn, "the drill that is running in "},
		{written("another", record.Running), " is gone"},
		{filepath.Join(t.TempDir(), "gone"), " is gone"},
		{"", "no drill brought it up"},
	} {
		l := &labs{have: &record.Lab{Name: "mine"}}
		l.have.Specification.Name = "mine"
		l.have.Specification.Labels = map[string]string{labLabel: c.dir}
		dir := t.TempDir()
		w, err := record.CreateDrill(dir, asked)
		if err != nil {
			t.Fatal(err)
		}
		err = (&runner{spec: asked, o: Options{Dir: dir, Labs: l},
			progress: newStatusWriter(silent{}, w, time.Now, 1)}).bringUp(t.Context(), 1)
		did := strings.Join(l.did, ", ")
		if c.want == "" {
			if err != nil || did != "down mine, up "+dir {
				t.Errorf("of what is left: %v, did %s", err, did)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "plimsoll lab down mine") || did != "" {
			t.Errorf("%q: %v, did %s", c.want, err, did)
		}
	}
}
