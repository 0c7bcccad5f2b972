//go:build !race

package e2e

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/plimsoll-bench/plimsoll/record"
)

// standing is how each member stood against the final read of a round.
func standing(r record.DrillRound) map[string]record.LedgerRead {
	by := map[string]record.LedgerRead{}
	for _, read := range r.Ledger.Reads {
		by[read.Source] = read
	}
	return by
}

// testAllAgree looks whether the audit read all members directly, and found them equal.
func testAllAgree(t *testing.T, r record.DrillRound, members ...string) {
	t.Helper()
	by := standing(r)
	for _, m := range members {
		if got := by[m]; got.State != record.MemberAgrees || got.Documents != by["final"].Documents {
			t.Errorf("%s, read directly, is %+v; the final read is %+v", m, got, by["final"])
		}
	}
	if len(r.Unread) > 0 || len(by) != len(members)+1 {
		t.Errorf("%d members were read, and not read were %q", len(by)-1, r.Unread)
	}
}

// secondary is the name of a standby of a lab that receives from the primary.
func secondary(t *testing.T, name string) (standby string) {
	t.Helper()
	until(t, "a standby receives", func() bool {
		for _, m := range status(t, name).Members {
			if m.Role == "secondary" && m.State == "running" && m.LagBytes != nil {
				standby = m.Name
			}
		}
		return standby != ""
	})
	return standby
}

// holdReplay lets a standby receive everything and apply nothing, until the returned function is called.
func holdReplay(t *testing.T, name, member string) (goOn func()) {
	t.Helper()
	var address string
	for _, m := range status(t, name).Members {
		if m.Name == member {
			address = m.Address
		}
	}
	password, err := os.ReadFile(filepath.Join(labDir(t, name), "secrets", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	do := func(sql string) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c, err := pgconn.Connect(ctx, "host="+host+" port="+port+" user=plimsoll dbname=postgres sslmode=disable password="+strings.TrimSpace(string(password)))
		if err != nil {
			t.Errorf("%s cannot be told %q: %v", member, sql, err)
			return
		}
		defer c.Close(ctx)
		if _, err := c.Exec(ctx, sql).ReadAll(); err != nil {
			t.Errorf("%s cannot be told %q: %v", member, sql, err)
		}
	}
	do("select pg_wal_replay_pause()")
	return func() { do("select pg_wal_replay_resume()") }
}
