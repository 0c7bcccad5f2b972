package engine

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"
)

// The password and salt of RFC 7677's example; the result is PostgreSQL's for them.
func TestVerifier(t *testing.T) {
	salt, err := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	if err != nil {
		t.Fatal(err)
	}
	const want = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
	for _, password := range []string{"pencil", "pen\u00adcil"} { // a soft hyphen is nothing
		if got, err := verifier(password, string(salt)); err != nil || got != want {
			t.Errorf("%q: %s, error %v, want %s", password, got, err, want)
		}
	}
	if got, err := verifier("bell\a", string(salt)); err == nil || strings.Contains(err.Error(), "bell") {
		t.Errorf("a control character: %q, error %v", got, err)
	}
}

func TestCheckAccess(t *testing.T) {
	for _, c := range []struct{ user, password, want string }{
		{"", "", ""},
		{"ada", "", ""},
		{"A-d.a_1", "x", ""},
		{"ada", "hush\x01", "control characters"},
		{"a\"b", "hush", "invalid user name"},
		{"1a", "hush", "invalid user name"},
		{"ä", "hush", "invalid user name"},
		{strings.Repeat("a", 64), "hush", "at most 63"},
		{"plimsoll", "hush", "reserved for the server"},
		{"pg_monitor", "hush", "reserved for the server"},
		{"documentdb_admin_role", "hush", "reserved for the server"},
	} {
		err := CheckAccess(c.user, c.password)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "hush")) {
			t.Errorf("%q, %q: error %v, want one with %q", c.user, c.password, err, c.want)
		}
	}
}

func TestCertificate(t *testing.T) {
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	c, err := newAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	other, err := newAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := c.issue("host1", "127.0.0.1", now)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name      string
		authority []byte
		at        time.Time
		works     bool
	}{
		{"localhost", c.text, now, true},
		{"127.0.0.1", c.text, now.Add(300 * 24 * time.Hour), true},
		{"::1", c.text, now.Add(-30 * time.Minute), true},
		{"example.org", c.text, now, false},
		{"localhost", other.text, now, false},
		{"localhost", c.text, now.Add(2 * certificateLife), false},
	} {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(tc.authority)
		if _, err := cert.Verify(x509.VerifyOptions{DNSName: tc.name, Roots: roots,
			CurrentTime: tc.at}); (err == nil) != tc.works {
			t.Errorf("%s at %v: error %v", tc.name, tc.at, err)
		}
	}
}

func TestEscapeOption(t *testing.T) {
	if got, want := escapeOption("/srv/a b/ä+&%.pem"), "/srv/a%20b/%C3%A4%2B%26%25.pem"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
