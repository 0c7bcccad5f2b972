package engine

import (
	"strings"
	"testing"
)

func TestLSN(t *testing.T) {
	for _, text := range []string{"0/0", "0/16B3748", "1A/FFFFFFFF", "FFFFFFFF/0"} {
		l, err := parseLSN(text)
		if err != nil || l.String() != text {
			t.Errorf("%s is read as %v, error %v", text, l, err)
		}
	}
	for _, text := range []string{"", "0", "x/1", "1/", "100000000/0", "0/100000000"} {
		if l, err := parseLSN(text); err == nil {
			t.Errorf("%q is read as %v", text, l)
		}
	}
}

func TestParseWaldump(t *testing.T) {
	text := `rmgr: Heap        len (rec/tot):     54/  1234, tx:        777, lsn: 0/0303A270, prev 0/0303A238, desc: INSERT off: 5
rmgr: Transaction len (rec/tot):     34/    34, tx:        777, lsn: 0/0303A748, prev 0/0303A270, desc: COMMIT 2026-11-22 12:00:00.000000 UTC
rmgr: Transaction len (rec/tot):     34/    34, tx:        778, lsn: 0/0303A770, prev 0/0303A748, desc: ABORT 2026-11-22 12:00:00.000000 UTC
pg_waldump: error: error in WAL record at 0/303A770: invalid record length at 0/303A798: expected at least 24, got 0
`
	end, commits := parseWaldump(text)
	if want := LSN(0x303A770 + 34); end != want || commits != 1 {
		t.Errorf("end %v, %d commits; want %v and 1", end, commits, want)
	}
	if end, commits := parseWaldump("pg_waldump: error: could not find a valid record after 0/303A798\n"); end != 0 || commits != 0 {
		t.Errorf("end %v, %d commits of nothing", end, commits)
	}
}

func FuzzParseWaldump(f *testing.F) {
	f.Add("rmgr: Transaction len (rec/tot):     34/    34, tx: 7, lsn: 0/0303A748, prev 0/0, desc: COMMIT x\n")
	f.Add("rmgr: , lsn: 1/")
	f.Fuzz(func(t *testing.T, text string) {
		if _, commits := parseWaldump(text); commits > strings.Count(text, "COMMIT") {
			t.Errorf("%d commits", commits)
		}
	})
}

func TestLiteral(t *testing.T) {
	if got := literal("it's"); got != "'it''s'" {
		t.Error(got)
	}
}
