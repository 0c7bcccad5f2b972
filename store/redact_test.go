package store

import (
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"":                                                      "",
		"embedded:/tmp/data":                                    "embedded:/tmp/data",
		"mongodb://host":                                        "mongodb://host",
		"mongodb://host:27017/db?w=1":                           "mongodb://host:27017/db?w=1",
		"mongodb://joe:secret@host/db":                          "mongodb://joe:***@host/db",
		"MongoDB+SRV://joe:secret@host":                         "MongoDB+SRV://joe:***@host",
		"mongodb://joe@host":                                    "mongodb://joe@host",
		"mongodb://joe:@host":                                   "mongodb://joe:***@host",
		"mongodb://joe:sec@ret@host":                            "mongodb://joe:***@host",
		"mongodb://joe:sec/ret@host":                            "mongodb://joe:***@host",
		"mongodb://joe:sec?secret=@host/?w=1":                   "mongodb://joe:***@host/?w=1",
		"mongodb://joe:sec ret\"secret@host/":                   "mongodb://joe:***@host/",
		"mongodb://joe:s:secret@a:1,b:2/":                       "mongodb://joe:***@a:1,b:2/",
		"mongodb://h/?proxyPassword=secret&w=1":                 "mongodb://h/?proxyPassword=***&w=1",
		"mongodb://h/?tlsCertificateKeyFilePassword=secret;w=1": "mongodb://h/?tlsCertificateKeyFilePassword=***;w=1",
		"mongodb://k:secret@h/?authMechanismProperties=AWS_SESSION_TOKEN:secret":  "mongodb://k:***@h/?authMechanismProperties=***",
		"cannot use mongodb://joe:secret@host/ today, see a@b":                    "cannot use mongodb://joe:***@host/ today, see a@b",
		`"mongodb://a:secret@h" and "postgres://b:secret@h/d?sslpassword=secret"`: `"mongodb://a:***@h" and "postgres://b:***@h/d?sslpassword=***"`,
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := OneLine("a\n\tb  mongodb://x:secret@h/\xff"); got != "a b mongodb://x:***@h/?" {
		t.Errorf("%q", got)
	}
	if got := OneLine(strings.Repeat("é", 1000)); len(got) > maxLine+3 || !strings.HasSuffix(got, "é…") {
		t.Errorf("%d bytes, end %q", len(got), got[len(got)-8:])
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("joe", "secret", "host", "/db?w=1")
	f.Add("joe", "se@cr/et?x", "a,b", "")
	f.Fuzz(func(t *testing.T, user, password, host, rest string) {
		// A mark that can come from nowhere else must not survive, whatever stands around it.
		const mark = "hunter2hunter2"
		if strings.ContainsAny(user, ":/@") || strings.Contains(user+host+rest, mark) {
			return
		}
		if got := Redact("mongodb://" + user + ":" + password + mark + "@" + host + rest); strings.Contains(got, mark) {
			t.Errorf("password left in %q", got)
		}
	})
}
