package run

import (
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	for _, c := range []struct {
		text string
		want Target
	}{
		{"", Target{Kind: "embedded", Dir: "plimsoll-data/embedded"}},
		{"embedded:/srv/data", Target{Kind: "embedded", Dir: "/srv/data"}},
		{"mongodb://a,b/?replicaSet=rs", Target{Kind: "mongodb", URI: "mongodb://a,b/?replicaSet=rs"}},
		{"mongodb+srv://cluster.example/", Target{Kind: "mongodb", URI: "mongodb+srv://cluster.example/"}},
		{"null:", Target{Kind: "null"}},
		{"null", Target{Kind: "null"}},
		{"null:tcp", Target{Kind: "null-tcp"}},
		{"http://127.0.0.1:8080/", Target{Kind: "http", URI: "http://127.0.0.1:8080/"}},
	} {
		if got, err := ParseTarget(c.text); err != nil || got != c.want {
			t.Errorf("%q: %+v, error %v", c.text, got, err)
		}
	}
}

// An error never shows what may be a password, also where the scheme is missing or wrong.
func TestParseTargetErrors(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"embedded:", "has no directory"},
		{"embeded:dir", "did you mean embedded?"},
		{"localhost:27017", "did you mean mongodb://localhost:27017?"},
		{"bob:s3cret@db1:27017", "did you mean mongodb://bob:***@db1:27017?"},
		{"bob:s3cret@db1", "mongodb://bob:***@db1"},
		{"null:s3cret@db1", "known:"},
		{"mongo://bob:s3cret@db1/", "mongodb"},
		{"http://bob:s3cret@db1/", "known:"},
	} {
		_, err := ParseTarget(c.text)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: error %v, want one with %q and without the password", c.text, err, c.says)
		}
	}
}
