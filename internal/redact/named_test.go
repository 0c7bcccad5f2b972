package redact

import "testing"

func TestNamed(t *testing.T) {
	for line, want := range map[string]string{
		`parameter "primary_conninfo" changed to "host=127.0.0.1 password=abc123 dbname=postgres"`: `parameter "primary_conninfo" changed to "host=127.0.0.1 password=*** dbname=postgres"`,
		`{"apiKey": "abc", "n": 1}`:           `{"apiKey": ***, "n": 1}`,
		`{"password": "abc", "n": 1}`:         `{"password": ***, "n": 1}`,
		`PGPASSWORD='x y' psql`:               `PGPASSWORD=*** psql`,
		`dial postgres://admin:s3:c@[::1]/db`: `dial postgres://admin:***@[::1]/db`,
		`a=1&password=p&b=2`:                  `a=1&password=***&b=2`,
		`password authentication failed`:      `password authentication failed`,
		`passfile=/data/pgpass port=5432`:     `passfile=/data/pgpass port=5432`,
		`at 12:30:01 http://host:80/x@y`:      `at 12:30:01 http://host:80/x@y`,
	} {
		if got := Named(line); got != want {
			t.Errorf("%s became %s, want %s", line, got, want)
		}
	}
}
