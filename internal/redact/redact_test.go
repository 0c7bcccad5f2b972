package redact

import (
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
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
		// No port, no value of its option.
		"mongodb://joe@h:secret/":               "mongodb://joe@h:***/",
		"mongodb://joe:secret":                  "mongodb://joe:***",
		"mongodb://a:1,b:secret/?w=1":           "mongodb://a:1,b:***/?w=1",
		"mongodb://[::1]:27017/":                "mongodb://[::1]:27017/",
		"mongodb://h/?authMechanism=secret&w=1": "mongodb://h/?authMechanism=***&w=1",
		"mongodb://h/?authMechanism=SCRAM-SHA-1&authSource=admin&replicaSet=rs0&tls=true&maxPoolSize=3": "mongodb://h/?authMechanism=SCRAM-SHA-1&authSource=admin&replicaSet=rs0&tls=true&maxPoolSize=3",
		"mongodb://h/?tls=secret":                 "mongodb://h/?tls=***",
		"write mongodb://HOST:PORT/?OPTION=VALUE": "write mongodb://HOST:PORT/?OPTION=VALUE",
		// Cleaned, without its slashes, without its scheme.
		"open mongodb:/joe:secret@h: no such file":        "open mongodb:/joe:***@h: no such file",
		"mongodb+srv:/joe:secret@h/x":                     "mongodb+srv:/joe:***@h/x",
		`the key "mongodb" has "//joe:secret@h/"`:         `the key "mongodb" has "//joe:***@h/"`,
		"cannot use joe:secret@host/db":                   "cannot use joe:***@host/db",
		"the image mongodb:8.0 and docker.io/mongodb:8.0": "the image mongodb:8.0 and docker.io/mongodb:8.0",
		// A quotation mark or a space in the password, within a text.
		`unknown command "mongodb://joe:sec\"secret@h/" for plimsoll`: `unknown command "mongodb://joe:***@h/" for plimsoll`,
		"cannot read mongodb://joe:sec secret@h/ (see it)":            "cannot read mongodb://joe:***@h/ (see it)",
	} {
		if got := Addresses(in); got != want {
			t.Errorf("Addresses(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestInText(t *testing.T) {
	const text = "mongodb://h:1/ does not answer; write to a@b"
	if got := InText(text); got != text {
		t.Errorf("%q", got)
	}
}

func TestKnown(t *testing.T) {
	var k Known
	if !k.Empty() {
		t.Error("something is known from the beginning")
	}
	k.Learn("mongodb://u:p%40ss%20word@h:hidden1port/?authMechanism=hidden2option&replicaSet=rs0")
	for in, want := range map[string]string{
		"tried p@ss word": "tried ***", "tried p%40ss%20word": "tried ***", "tried p%40ss+word": "tried ***",
		"the port hidden1port": "the port ***", "no mechanism hidden2option": "no mechanism ***", "the set rs0": "the set rs0",
	} {
		if got := k.Hide(in); got != want {
			t.Errorf("Hide(%q) = %q, want %q", in, got, want)
		}
	}
	k.Add("run")
	if got := k.Hide("plimsoll run: running"); got != "plimsoll ***: running" {
		t.Errorf("a short word is hidden within others: %q", got)
	}
	k.Add(`a"b//c`)
	if got := k.Hide(`"a\"b//c" a"b/c`); got != `"***" ***` {
		t.Errorf("%q", got)
	}
}

func FuzzAddresses(f *testing.F) {
	f.Add("joe", "secret", "host", "/db?w=1")
	f.Add("joe", "se@cr/et?x", "a,b", "")
	f.Fuzz(func(t *testing.T, user, password, host, rest string) {
		// The mark is unique, and must not survive in any surroundings.
		const mark = "hunter2hunter2"
		if strings.ContainsAny(user, ":/@") || strings.Contains(user+host+rest, mark) {
			return
		}
		if got := Addresses("mongodb://" + user + ":" + password + mark + "@" + host + rest); strings.Contains(got, mark) {
			t.Errorf("password left in %q", got)
		}
	})
}

func TestLearnCommand(t *testing.T) {
	var k Known
	k.LearnCommand([]string{"/usr/bin/ipmitool", "-U", "operator", "-P", "board77", "--token=cloud88", "--api-token", "cloud99", "mongodb://u:hunter22@h/"})
	if got, want := k.Hide("operator board77 cloud88 cloud99 hunter22"), "operator *** *** *** ***"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	k = Known{}
	k.LearnCommand([]string{"scp", "-P", "2222", "--password"})
	if got := k.Hide("port 2222"); got != "port 2222" {
		t.Errorf("%q", got)
	}
}
