package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// newMongo makes a node of the given role on a plain host.
func newMongo(t *testing.T, binary string, change func(*engine.MongoSpec)) (*engine.MongoNode, host.Host) {
	t.Helper()
	_, hosts := enginetest.Hosts(t, host.Plain, "host1", "host2")
	programs, err := engine.FindMongo(t.Context(), t.TempDir(), binary, "", false)
	if err != nil {
		t.Fatal(err)
	}
	spec := engine.MongoSpec{Name: "mongod-1", Role: engine.MongoStandalone, Host: hosts["host1"], DataDir: t.TempDir(),
		LogDir: filepath.Join(t.TempDir(), "mongod-1"), Programs: programs}
	if change != nil {
		change(&spec)
	}
	n, err := engine.NewMongoNode(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Kill() })
	return n, hosts["host2"]
}

func TestMongoNodeConforms(t *testing.T) {
	for name, change := range map[string]func(*engine.MongoSpec){
		"standalone": nil,
		"member":     func(s *engine.MongoSpec) { s.Role, s.Set = engine.MongoMember, "rs0" },
		"config":     func(s *engine.MongoSpec) { s.Role, s.Set = engine.MongoConfig, "config" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, other := newMongo(t, enginetest.StandinMongo(t, "8.0.12"), change)
			enginetest.Conform(t, n, other)
		})
	}
	if binary, ok := enginetest.RealMongo(t); ok {
		t.Run("real", func(t *testing.T) {
			n, other := newMongo(t, binary, nil)
			enginetest.Conform(t, n, other)
		})
	}
}

// Every release from 4.4 on is started and asked in a way that it has.
func TestMongoNodeReleases(t *testing.T) {
	for _, version := range []string{"4.4.0", "4.4.29", "5.0.31", "6.0.25", "7.0.24", "8.0.12", "8.2.1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			n, _ := newMongo(t, enginetest.StandinMongo(t, version), func(s *engine.MongoSpec) {
				s.Cache = 512 << 20
				s.Parameters = map[string]string{"syncdelay": "30"}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			if err := n.Start(ctx); err != nil {
				t.Fatal(err)
			}
			if err := n.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			if n.Version() != version {
				t.Errorf("version %q, want %q", n.Version(), version)
			}
			h, err := n.Hello(ctx)
			if err != nil || h.Words() != "a standalone" {
				t.Errorf("it is %s, error %v", h.Words(), err)
			}
			got, err := n.Settings(ctx)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"storage.dbPath": n.DataDir(), "storage engine": "wiredTiger", "parameter syncdelay": "60",
				"open files": strconv.FormatUint(min(hardFiles(t), engine.MongoOpenFiles), 10), "allocator caches per CPU": ""}
			if n.Release().AtLeast(8, 0) {
				want["allocator caches per CPU"] = "true"
			}
			for key, value := range want {
				if got[key] != value {
					t.Errorf("setting %s is %q, want %q", key, got[key], value)
				}
			}
			if err := n.Stop(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// hardFiles is the hard limit of open files of this process.
func hardFiles(t *testing.T) uint64 {
	t.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	return l.Max
}

// What the user has set of the C library stays, and what mongod needs is added.
func TestMongoEnvironmentOfUser(t *testing.T) {
	for set, want := range map[string]string{
		"glibc.malloc.check=1":                      "true",
		"glibc.pthread.rseq=1:glibc.malloc.check=1": "false",
	} {
		t.Setenv("GLIBC_TUNABLES", set)
		n, _ := newMongo(t, enginetest.StandinMongo(t, "8.0.12"), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := errors.Join(n.Start(ctx), n.Wait(ctx)); err != nil {
			t.Fatal(err)
		}
		if got, err := n.Settings(ctx); err != nil || got["allocator caches per CPU"] != want {
			t.Errorf("with GLIBC_TUNABLES=%s caches per CPU are used: %q, want %s; error %v", set, got["allocator caches per CPU"], want, err)
		}
	}
}

// The limit is that of isolated hosts too, whose processes enter control groups and namespaces before.
func TestMongoOpenFilesIsolated(t *testing.T) {
	if err := host.Check(host.Isolated); err != nil {
		notrun.Here(t, "%v", err)
		return
	}
	_, hosts := enginetest.Hosts(t, host.Isolated, "host1")
	programs, err := engine.FindMongo(t.Context(), t.TempDir(), enginetest.StandinMongo(t, "8.0.12"), "", false)
	if err != nil {
		t.Fatal(err)
	}
	n, err := engine.NewMongoNode(engine.MongoSpec{Name: "mongod-1", Role: engine.MongoStandalone, Host: hosts["host1"],
		DataDir: t.TempDir(),
		LogDir:  filepath.Join(t.TempDir(), "mongod-1"), Programs: programs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Kill() })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if err := errors.Join(n.Start(ctx), n.Wait(ctx)); err != nil {
		t.Fatal(err)
	}
	want := strconv.FormatUint(min(hardFiles(t), engine.MongoOpenFiles), 10)
	if got, err := n.Settings(ctx); err != nil || got["open files"] != want {
		t.Errorf("the server may open %s files, want %s; error %v", got["open files"], want, err)
	}
}

// A server that does not start says why, in words of its own.
func TestMongoNodeFailures(t *testing.T) {
	for _, c := range []struct {
		name, misbehave, want string
		change                func(*engine.MongoSpec)
	}{
		{"dies", "dies-at-start", `Fatal assertion {"error":"the stand-in was told to die"`, nil},
		{"argument", "", "unrecognised option '--nojournal'", func(s *engine.MongoSpec) { s.Args = []string{"--nojournal"} }},
		{"parameter", "", "Unknown --setParameter 'unknown'", func(s *engine.MongoSpec) { s.Parameters = map[string]string{"unknown": "1"} }},
		{"key", "", "Read security file failed", func(s *engine.MongoSpec) { s.KeyFile = "/etc/passwd" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n, _ := newMongo(t, enginetest.StandinMongo(t, "7.0.24", c.misbehave), c.change)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			if err := n.Start(ctx); err != nil {
				t.Fatal(err)
			}
			err := n.Wait(ctx)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "has ended") {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	t.Run("hangs", func(t *testing.T) {
		t.Parallel()
		n, _ := newMongo(t, enginetest.StandinMongo(t, "7.0.24", "hangs"), nil)
		if err := n.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if err := n.Wait(ctx); err == nil || !strings.Contains(err.Error(), "not usable yet") {
			t.Errorf("error %v, want one that says that it is not usable yet", err)
		}
	})
	t.Run("ignores SIGTERM", func(t *testing.T) {
		t.Parallel()
		n, _ := newMongo(t, enginetest.StandinMongo(t, "7.0.24", "ignores-sigterm"), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := n.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if err := n.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		short, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		if err := n.Stop(short); err == nil || !strings.Contains(err.Error(), "was killed") {
			t.Errorf("error %v, want one that says that it was killed", err)
		}
		if n.Status().Running {
			t.Error("it runs after Stop")
		}
	})
}

func TestFindMongo(t *testing.T) {
	old := enginetest.StandinMongo(t, "4.2.24")
	now := enginetest.StandinMongo(t, "8.0.12")
	for _, c := range []struct{ name, binary, version, want string }{
		{"too old", old, "", "4.4 or later"},
		{"another release", now, "7.0", "engine.version requires 7.0"},
		{"a prefix is no release", now, "8.0.1", "engine.version requires 8.0.1"},
		{"no such file", "/nonexistent/mongod", "", "/nonexistent/mongod"},
		{"by its first numbers", now, "8.0", ""},
	} {
		p, err := engine.FindMongo(t.Context(), t.TempDir(), c.binary, c.version, true)
		if c.want == "" && (err != nil || p.Version.Major != 8 || filepath.Base(p.Mongos) != "mongos") {
			t.Errorf("%s: %+v, error %v", c.name, p, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// Of the installed releases the newest one that was asked for is taken.
func TestFindInstalledMongo(t *testing.T) {
	home := t.TempDir()
	for _, version := range []string{"7.0.24", "8.0.9", "8.0.12", "8.2.1"} {
		dir := filepath.Join(home, "engines", "mongod", version)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Dir(enginetest.StandinMongo(t, version)), filepath.Join(dir, "bin")); err != nil {
			t.Fatal(err)
		}
		text := `{"engine": "mongod", "version": "` + version + `", "path": "` + dir + `"}`
		if err := os.WriteFile(filepath.Join(dir, "installation.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for asked, want := range map[string]string{"": "8.2.1", "8.0": "8.0.12", "8.0.9": "8.0.9", "7.0": "7.0.24"} {
		p, err := engine.FindMongo(t.Context(), home, "", asked, true)
		if err != nil || p.Version.Text != want {
			t.Errorf("asked for %q: %+v, error %v, want %s", asked, p, err, want)
		}
	}
}

func TestMongoCache(t *testing.T) {
	const gib = 1 << 30
	got := []int64{engine.MongoCache(gib, 1), engine.MongoCache(4*gib, 1), engine.MongoCache(8*gib, 2),
		engine.MongoCache(64*gib, 0)}
	if diff := cmp.Diff([]int64{256 << 20, 3 * gib / 2, 3 * gib / 2, 63 * gib / 2}, got); diff != "" {
		t.Errorf("caches (-want +got):\n%s", diff)
	}
}

func TestCheckMongodArgs(t *testing.T) {
	for args, want := range map[string]string{
		"--dbpath /x":           "--dbpath is set by the lab; use storage.dir",
		"--bind_ip_all":         "bind_ip_all",
		"--port=5":              "--port is set by the lab",
		"-f /etc/mongod.conf":   "engine.args and engine.parameters",
		"--tlsMode requireTLS":  "use engine.tls",
		"--maxConns 100":        "",
		"--oplogSize 100 -vvv":  "",
		"--storageEngine=other": "",
	} {
		err := engine.CheckMongodArgs("engine.args", strings.Fields(args))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want one with %q", args, err, want)
		}
	}
}

func FuzzMongoVersion(f *testing.F) {
	for _, text := range []string{"8.0.12", "4.4.6-8", "7.0", "", "8", "8.x", "-1.2", "8.0.0.0", "99999999999999999999.1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := engine.ParseMongoVersion(text); err == nil && (v.Text != text || v.Major < 0 || v.Minor < 0 ||
			v.Patch < 0) {
			t.Errorf("%q is %+v", text, v)
		}
	})
}
