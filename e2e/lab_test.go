//go:build !race

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Tests of labs run in parallel, after all others of this package: they mostly wait, and labs must not affect each
// other.

// labOf makes a lab that is removed with the test.
func labOf(t *testing.T, name string, args ...string) record.Lab {
	t.Helper()
	removeAfter(t, name)
	e := plimsoll(t, append([]string{"lab", "up", "--format", "json", "--name", name, "--deadline", "5m"}, args...)...).must(t, 0)
	var l record.Lab
	if err := json.Unmarshal([]byte(e.stdout), &l); err != nil {
		t.Fatalf("lab up printed no lab: %v\n%s", err, e.stdout)
	}
	if l.State != "up" || l.UsableAfter <= 0 || l.URI == "" || len(l.Hosts) == 0 || len(l.Members) == 0 {
		t.Fatalf("the lab is %+v", l)
	}
	return l
}

// removeAfter removes a lab when the test ends, and checks that nothing remains.
func removeAfter(t *testing.T, name string) {
	t.Helper()
	foreign := groupsAndNamespaces(name)
	t.Cleanup(func() { removeLab(t, name, foreign) })
}

// removeLab removes a lab and fails the test if anything remains. foreign are the control groups and namespaces that
// had such names before the lab was made.
func removeLab(t *testing.T, name string, foreign []string) {
	t.Helper()
	made := journalled(t, name)
	if err := downNow(t, name); err != "" {
		t.Errorf("lab down %s: %s", name, err)
	}
	if left := leftOf(t, name, made, foreign); len(left) > 0 {
		t.Errorf("of the lab %s is left:\n%s", name, strings.Join(left, "\n"))
	}
}

func status(t *testing.T, name string) lab.Entry {
	t.Helper()
	e := plimsoll(t, "lab", "status", name, "--format", "json").must(t, 0)
	var l lab.Entry
	if err := json.Unmarshal([]byte(e.stdout), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// address returns the address of a lab, with credentials.
func address(t *testing.T, name string, args ...string) string {
	t.Helper()
	return strings.TrimSpace(plimsoll(t, append([]string{"lab", "connect", name}, args...)...).must(t, 0).stdout)
}

// insertLimit bounds one write of a retry loop: a write may never be answered if its host dies.
const insertLimit = time.Minute

// insert writes one document and returns whether it was acknowledged in time.
func insert(ctx context.Context, uri, collection string, id int) error {
	ctx, cancel := context.WithTimeout(ctx, insertLimit)
	defer cancel()
	return write(ctx, uri, collection, id)
}

// write writes one document and returns whether it was acknowledged.
func write(ctx context.Context, uri, collection string, id int) error {
	c, err := dial(uri)
	if err != nil {
		return err
	}
	defer hangUp(c)
	_, err = c.Database("lab").Collection(collection).InsertOne(ctx, bson.M{"_id": id})
	return err
}

// TestLab makes the smallest lab, uses all commands on it, and removes it.
func TestLab(t *testing.T) {
	inTurn(t, 20)
	forEachEngine(t, func(t *testing.T, engine string) {
		const name = "e2e-smallest"
		l := labOf(t, name, "--engine", engine, "--auth")
		if e := plimsoll(t, "lab", "up", "--engine", engine, "--name", name).must(t, 2); !strings.Contains(e.stderr, "already") {
			t.Errorf("a second lab of the name: %s", e.stderr)
		}
		if list := plimsoll(t, "lab", "list").must(t, 0).stdout; !strings.Contains(list, name) || !strings.Contains(list, "up") {
			t.Errorf("lab list says\n%s", list)
		}
		uri := address(t, name)
		password := strings.SplitN(strings.SplitN(uri, "@", 2)[0], ":", 3)[2]
		if len(password) < 12 {
			t.Fatalf("the address has the password %q", password)
		}
		if err := write(deadline(t), uri, "a", 1); err != nil {
			t.Error(err)
		}
		member, host := l.Members[0].Name, l.Members[0].Host
		testDoctor(t, engine, uri, password)
		testKillAndHeal(t, name, member)
		testExec(t, name, host)
		testExecByMember(t, name, member, host)
		testCompletion(t, name, member, host)
		e := plimsoll(t, "run", "lab:"+name, "--workload", "a", "--records", "200", "--threads", "2", "--duration", "1s", "--quiet", "--out", out)
		if e.code != 0 && e.code != 6 {
			t.Errorf("run lab:%s ended with %d\n%s\n%s", name, e.code, e.stdout, e.stderr)
		}
		testNoPassword(t, name, password, filepath.Join(e.dir, out))
		following := testFollowers(t, name, member)
		if took := plimsoll(t, "lab", "down", name).must(t, 0).stdout; !strings.Contains(took, "was removed") {
			t.Errorf("lab down says %q", took)
		}
		for _, f := range following {
			f.wait(t).must(t, 0)
		}
		plimsoll(t, "lab", "down", name).must(t, 2)
		plimsoll(t, "lab", "status", name).must(t, 2)
	})
}

// testKillAndHeal kills the only member, sees it dead, and reverts the fault; the data still exists.
func testKillAndHeal(t *testing.T, name, member string) {
	t.Helper()
	plimsoll(t, "lab", "fail", name, "kill", member).must(t, 0)
	if s := status(t, name); len(s.Faults) != 1 || s.Members[0].State == "running" {
		t.Errorf("after a kill the lab is %+v", s)
	}
	plimsoll(t, "lab", "fail", name, "kill", member).must(t, 2)
	plimsoll(t, "lab", "revert", name, member).must(t, 0)
	ctx := t.Context()
	until(t, "the member takes writes again", func() bool { return insert(ctx, address(t, name), "b", int(sequence.Add(1))) == nil })
	plimsoll(t, "lab", "fail", name, "pause", member, "--for", "300ms").must(t, 0)
	until(t, "a fault heals itself", func() bool { return len(status(t, name).Faults) == 0 })
	events := plimsoll(t, "lab", "logs", name).must(t, 0).stdout
	for _, part := range []string{"kill " + member, "is reverted", "usable after"} {
		if !strings.Contains(events, part) {
			t.Errorf("the events do not have %q:\n%s", part, events)
		}
	}
	if log := plimsoll(t, "lab", "logs", name, member, "-n", "5").must(t, 0).stdout; strings.TrimSpace(log) == "" {
		t.Errorf("%s has no log", member)
	}
}

// testExec runs programs on a host.
func testExec(t *testing.T, name, host string) {
	t.Helper()
	e := plimsoll(t, "lab", "exec", name, host, "--", "sh", "-c", "echo $PLIMSOLL_LAB $PLIMSOLL_LAB_HOST; exit 7").must(t, 7)
	if strings.TrimSpace(e.stdout) != name+" "+host {
		t.Errorf("exec printed %q", e.stdout)
	}
	plimsoll(t, "lab", "exec", name, "nowhere", "--", "true").must(t, 2)
	plimsoll(t, "lab", "connect", name, "--", "sh", "-c", `test -n "$PLIMSOLL_LAB_URI"`).must(t, 0)
}

// testNoPassword searches for the password in files and processes.
func testNoPassword(t *testing.T, name, password, dir string) {
	t.Helper()
	for _, args := range [][]string{{"lab", "status", name}, {"lab", "status", name, "--format", "json"}, {"lab", "list", "--format", "json"}, {"lab", "logs", name}} {
		if e := plimsoll(t, args...).must(t, 0); strings.Contains(e.stdout+e.stderr, password) {
			t.Errorf("plimsoll %q prints the password", args)
		}
	}
	secrets := filepath.Join(labDir(t, name), "secrets")
	for _, root := range []string{dir, labDir(t, name)} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() && (path == secrets || d.Name() == "volumes") {
				return filepath.SkipDir
			}
			b, err := os.ReadFile(path)
			if err == nil && d.Type().IsRegular() && strings.Contains(string(b), password) {
				if fi, err := d.Info(); err == nil && fi.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s has the password and can be read by others", path)
				} else if root == dir {
					t.Errorf("%s has the password", path)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestLabOfThree kills the primary of a set of three under load. Another member is promoted, the former primary returns
// as a standby, and all majority writes exist.
func TestLabOfThree(t *testing.T) {
	inTurn(t, 20)
	forEachEngine(t, func(t *testing.T, engine string) {
		const name = "e2e-three"
		labOf(t, name, "--engine", engine, "--members", "3", "--election", "elect-fast", "--ha")
		before := primary(t, name)
		var level []string
		if engine == "documentdb" {
			level = []string{"--durability", "majority"}
		}
		uri := address(t, name, level...)
		ctx := t.Context()
		for id := range 20 {
			if err := write(deadline(t), uri, "kept", id); err != nil {
				t.Fatal(err)
			}
		}
		e := plimsoll(t, "lab", "fail", name, "kill", "primary").must(t, 0)
		if !strings.Contains(e.stdout, before) {
			t.Errorf("the primary was %s: %s", before, e.stdout)
		}
		until(t, "another member takes over", func() bool { p := primary(t, name); return p != "" && p != before })
		plimsoll(t, "lab", "revert", name, before).must(t, 0)
		until(t, "the lab takes writes again", func() bool { return insert(ctx, address(t, name, level...), "after", int(sequence.Add(1))) == nil })
		until(t, "the former primary follows", func() bool {
			s := status(t, name)
			i := slices.IndexFunc(s.Members, func(m record.LabMember) bool { return m.Name == before })
			return len(s.Faults) == 0 && s.Members[i].State == "running" && s.Members[i].Role == "secondary"
		})
		c, err := dial(address(t, name, level...))
		if err != nil {
			t.Fatal(err)
		}
		defer hangUp(c)
		if n, err := c.Database("lab").Collection("kept").CountDocuments(deadline(t), bson.M{}); err != nil || n != 20 {
			t.Errorf("%d of 20 documents are there (%v)", n, err)
		}
	})
}

// primary returns the name of the primary, or "".
func primary(t *testing.T, name string) string {
	t.Helper()
	for _, m := range status(t, name).Members {
		if m.Role == "primary" && m.State == "running" {
			return m.Name
		}
	}
	return ""
}

// TestIsolatedLab has hosts with addresses and limits, and volumes of two disks. A disk fails under load; a host loses
// power and its members restart on another host.
func TestIsolatedLab(t *testing.T) {
	inTurn(t, 35)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	const name = "e2e-isolated"
	labOf(t, name, "--engine", "documentdb", "--hosts", "isolated", "--host-count", "2", "--cores", "0.8", "--memory", "1GiB",
		"--size", "512MiB", "--tolerate", "1", "--ha")
	s := status(t, name)
	if !strings.HasPrefix(s.Hosts[0].Address, "198.18.") && !strings.HasPrefix(s.Hosts[0].Address, "198.19.") {
		t.Errorf("the host has the address %s", s.Hosts[0].Address)
	}
	host, volume := s.Members[0].Host, s.Volumes[0]
	if v := volume; v.Health != "healthy" || len(v.Disks) != 2 || v.Capacity < 512<<20 {
		t.Errorf("the volume is %+v", v)
	}
	if e := plimsoll(t, "lab", "exec", name, host, "--", "ip", "-o", "address").must(t, 0); !strings.Contains(e.stdout,
		s.Hosts[0].Address+"/") {
		t.Errorf("the addresses on %s are\n%s", host, e.stdout)
	}
	ctx := t.Context()
	if err := write(deadline(t), address(t, name), "a", 1); err != nil {
		t.Fatal(err)
	}
	disk := volume.Name + "/" + volume.Disks[1].Name
	testOneDiskOfAMirror(t, name, disk)
	until(t, "the volume is healthy", func() bool { return status(t, name).Volumes[0].Health == "healthy" })
	plimsoll(t, "lab", "fail", name, "power-off", host).must(t, 0)
	until(t, "the member is on another host", func() bool {
		return status(t, name).Members[0].Host != host && status(t, name).Members[0].State == "running"
	})
	until(t, "the lab takes writes again", func() bool { return insert(ctx, address(t, name), "a", int(10+sequence.Add(1))) == nil })
	plimsoll(t, "lab", "revert", name, "--all").must(t, 0)
	if m := status(t, name).Members[0]; m.Host == host {
		t.Errorf("the member moved back by itself: %+v", m)
	}
	plimsoll(t, "lab", "fail", name, "cut", status(t, name).Members[0].Host, "--for", "500ms").must(t, 0)
	until(t, "the host is reached again", func() bool { return insert(ctx, address(t, name), "a", int(10+sequence.Add(1))) == nil })
}

// testOneDiskOfAMirror fails a disk under load: no operation fails, nothing is lost, and the volume is rebuilt. A
// timeout of half a minute and few connections avoid failures on a busy machine.
func testOneDiskOfAMirror(t *testing.T, name, disk string) {
	t.Helper()
	d, e := untilSeen(t, known, "lab:"+name, "--fault", "disk-fail:"+disk, "--at", "3s", "--for", "3s", "--warmup", "2s", "--duration", "9s", "--rate", "40", "--threads", "4",
		"--timeout", "30s", "--durability", "durable", "--expect-no-errors", "--quiet", "--out", out)
	r := d.Rounds[0]
	if d.Verdict != record.Holds || !r.Faults[0].Hit || r.Problem != "" || r.Ledger == nil ||
		r.Ledger.Acknowledged == 0 {
		t.Fatalf("one disk of a mirror failed: %s because of %q, %s, %+v\n%s", d.Verdict, d.Reasons, r.Problem, r.Faults,
			plimsoll(t, "show", filepath.Join(e.dir, out, "rounds", "1")).stdout)
	}
	if l := r.Ledger; l.Inserts[record.WriteOK]+l.Updates[record.WriteOK] != l.Acknowledged || r.Effects[0].Failed != 0 {
		t.Errorf("one disk of a mirror failed, and so did %d operations; the ledger is %+v", r.Effects[0].Failed, l)
	}
	if !has(r, record.MomentRedundant) {
		t.Errorf("the timeline does not say when the volume was rebuilt: %+v", r.Moments)
	}
}

// downNow removes a lab and returns the error.
func downNow(t *testing.T, name string) string {
	t.Helper()
	e := plimsollQuietly(t, "lab", "down", name)
	if e.code == 0 || strings.Contains(e.stderr, "there is no such lab") {
		return ""
	}
	return "exit code " + strconv.Itoa(e.code) + "\n" + e.stderr
}
