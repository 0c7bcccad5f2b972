package engine

import "testing"

// What PostgreSQL 18 wrote into its log about parameters that it does not take, and what is told of it.
func TestRefusedParameter(t *testing.T) {
	for line, want := range map[string]string{
		`2026-01-01 10:00:00.000 GMT [1] LOG:  unrecognized configuration parameter "shared_bufers" in file "/plimsoll/data/postgresql.conf" line 15`: `unrecognized configuration parameter "shared_bufers" in file "/plimsoll/data/postgresql.conf" line 15`,
		`2026-01-01 10:00:00.000 GMT [1] LOG:  invalid value for parameter "work_mem": "12XB"`:                                                        `invalid value for parameter "work_mem": "12XB"`,
		`2026-01-01 10:00:00.000 GMT [1] LOG:  1 kB is outside the valid range for parameter "work_mem" (64 kB .. 2147483647 kB)`:                     `1 kB is outside the valid range for parameter "work_mem" (64 kB .. 2147483647 kB)`,
		`2026-01-01 10:00:00.000 GMT [1] LOG:  parameter "max_connections" cannot be changed`:                                                         `parameter "max_connections" cannot be changed`,
		`2026-01-01 10:00:00.000 GMT [1] FATAL:  configuration file "/plimsoll/data/postgresql.conf" contains errors`:                                 "",
		`2026-01-01 10:00:00.000 GMT [1] LOG:  database system is ready to accept connections`:                                                        "",
	} {
		got := ""
		if said := refusedParameter().FindStringSubmatch("; rs0-1.log ends with:\n  | starting\n  | " + line + "\n  | bye"); said != nil {
			got = said[1]
		}
		if got != want {
			t.Errorf("of %s\nis told %q, want %q", line, got, want)
		}
	}
}
