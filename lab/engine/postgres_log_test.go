package engine

import (
	"strings"
	"testing"
)

// What pg_controldata prints, in the words of PostgreSQL's documentation and sources.
const controlText = `pg_control version number:            1800
Database cluster state:               in archive recovery
Latest checkpoint location:           0/5000098
Latest checkpoint's REDO location:    0/5000040
Latest checkpoint's TimeLineID:       3
Minimum recovery ending location:     0/50B0A18
Min recovery ending loc's timeline:   3
`

func TestParseControl(t *testing.T) {
	for state, led := range map[string]bool{"in archive recovery": false, "shut down in recovery": false, "in production": true,
		"shut down": true, "shutting down": true, "in crash recovery": true} {
		c, err := parseControl(strings.ReplaceAll(controlText, "in archive recovery", state))
		if want := (control{redo: 0x5000040, timeline: 3, minimum: 0x50B0A18, led: led}); err != nil || c != want {
			t.Errorf("%s: %+v, error %v", state, c, err)
		}
	}
	for _, bad := range []string{"", strings.ReplaceAll(controlText, "0/5000040", "5000040"), strings.ReplaceAll(controlText, "ID:       3", "ID: x")} {
		if c, err := parseControl(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, c)
		}
	}
}

func TestParseSegment(t *testing.T) {
	timeline, at, err := parseSegment("0000000A00000002000000FF")
	if err != nil || timeline != 10 || at != 2<<32+0xFF000000 {
		t.Errorf("timeline %d at %v, error %v", timeline, at, err)
	}
	for _, bad := range []string{"", "00000001.history", "0000000A00000002000000FG"} {
		if _, _, err := parseSegment(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
