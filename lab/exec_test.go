package lab

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The address of one member keeps the credentials and the options of the lab's, without those of the set.
func TestMemberURI(t *testing.T) {
	for _, c := range []struct{ uri, kind, want string }{
		{"mongodb://u:p%40x@a:1,b:2,c:3/?authSource=admin&replicaSet=rs0", "mongod", "mongodb://u:p%40x@here:27017/?authSource=admin&directConnection=true"},
		{"mongodb://a:1,b:2/?replicaSet=rs0", "mongod", "mongodb://here:27017/?directConnection=true"},
		{"mongodb://a:1/", "mongos", "mongodb://here:27017/"},
		{"mongodb://u:p@a:1", "gateway", "mongodb://u:p@here:27017/"},
		{"mongodb://u:p@a:1/?x=y", "gateway", "mongodb://u:p@here:27017/?x=y"},
	} {
		n := &fakeNode{name: "x", kind: c.kind, address: "here:27017"}
		if got := memberURI(c.uri, n); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.kind, c.uri, got, c.want)
		}
	}
}

// A program runs beside the member that was named, by its name or role, and knows it; what cannot be started has the
// code of a shell, and a host without power is unreachable.
func TestExec(t *testing.T) {
	l := upFake(t, nil)
	run := func(host string, command ...string) (int, string, error) {
		var out bytes.Buffer
		code, err := l.h.Exec(t.Context(), ExecRequest{Host: host, Command: command}, &out)
		return code, strings.TrimSpace(out.String()), err
	}
	show := []string{"/bin/sh", "-c", "echo $PLIMSOLL_LAB_HOST $PLIMSOLL_LAB_MEMBER $PLIMSOLL_LAB_MEMBER_PORT $PLIMSOLL_LAB_MEMBER_URI; exit 7"}
	for host, want := range map[string]string{
		"host2":           "host2",
		"rs0-2":           "host2 rs0-2 5432",
		"primary":         "host1 rs0-1 5432",
		"gateway-durable": "gateway1 gateway-durable 5432 mongodb://user:secret@198.18.0.1:5432/?a=b",
	} {
		if code, out, err := run(host, show...); code != 7 || out != want || err != nil {
			t.Errorf("on %s: %d, %q, %v", host, code, out, err)
		}
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("words"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/nowhere/program": 127, text: 126, t.TempDir(): 126} {
		if code, _, err := run("host1", path); code != want || err == nil {
			t.Errorf("%s: %d, %v", path, code, err)
		}
	}
	if _, _, err := run("host9", "/bin/true"); !errors.Is(err, ErrRefused) || errors.Is(err, ErrUnreachable) ||
		!strings.Contains(err.Error(), "host1") {
		t.Errorf("a host that is not there: %v", err)
	}
	l.mustFail(t, broken("power-off:host2"))
	l.mustFail(t, broken("pause:host3"))
	for host, part := range map[string]string{"rs0-2": "host2 has no power", "host3": "plimsoll lab revert fake host3"} {
		if _, _, err := run(host, "/bin/true"); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), part) {
			t.Errorf("on %s: %v", host, err)
		}
	}
}
