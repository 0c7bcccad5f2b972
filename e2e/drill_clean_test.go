package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// What drills left is removed, by the record of a killed one alone too, and nothing else is.
func TestMongoDrillClean(t *testing.T) {
	inTurn(t, 5)
	for name, binary := range mongods(t) {
		t.Run(name, func(t *testing.T) {
			set := enginetest.StartSecureSet(t, binary, 3)
			own := func(c *exec.Cmd) { c.Env = append(c.Env, "OWN_URI="+set.Writer) }
			told := func(args ...string) ended {
				t.Helper()
				return startChanged(t, own, args...).wait(t)
			}
			client, err := mongo.Connect(options.Client().ApplyURI(set.Writer))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Disconnect(t.Context()) }()
			db := client.Database("plimsoll")
			count := func(collection string) (n int) {
				t.Helper()
				cursor, err := db.Collection(collection).Find(t.Context(), bson.D{})
				var list []bson.Raw
				if err == nil {
					err = cursor.All(t.Context(), &list)
				}
				if err != nil {
					t.Fatal(err)
				}
				return len(list)
			}
			external := []string{"drill", "env:OWN_URI", "--external", "--duration", "60s", "--rate", "100", "--threads", "4", "--quiet", "--out", out}

			dirs := killTwoDrills(t, own, external, func() int { return count("plimsoll_ledger") })
			// Other documents are in their collections.
			foreign := bson.D{{Key: "_id", Value: bson.NewObjectID()}, {Key: "seed", Value: true}, {Key: "name", Value: "mine"}}
			for _, c := range []string{"plimsoll_ledger", "plimsoll_drill_seeds", "mine"} {
				if _, err := db.Collection(c).InsertOne(t.Context(), foreign); err != nil {
					t.Fatal(err)
				}
			}
			all := count("plimsoll_ledger")
			if e := told("show", "--verbose", dirs[0]); !strings.Contains(e.stdout, "plimsoll drill clean "+out) {
				t.Errorf("the record says %s", e.stdout)
			}
			if e := told("drill", "clean", dirs[0]); e.code != 2 || !strings.Contains(e.stderr, "records keep no passwords") {
				t.Errorf("without a password: %d, %s", e.code, e.stderr)
			}
			refusesWrongPassword(t, set.Writer, []string{"drill", "clean", dirs[0], "env:OWN_URI"}, external)
			if n := count("plimsoll_ledger"); n != all {
				t.Errorf("%d of %d documents are left before anything was to be removed", n, all)
			}

			e := told("drill", "clean", dirs[0], "env:OWN_URI").must(t, 0)
			rest := count("plimsoll_ledger")
			if rest >= all || rest < 30 || !strings.Contains(e.stdout, "other drills wrote them") || !strings.Contains(e.stdout, "nothing proves that a drill wrote") {
				t.Errorf("%d of %d documents are left:\n%s", rest, all, e.stdout)
			}
			// The other drill has two seed documents and one of its probes.
			if n := count("plimsoll_drill_seeds"); n != 4 {
				t.Errorf("%d seed documents are left, not the three of the other drill and the foreign one", n)
			}
			if e := told("drill", "clean", "env:OWN_URI"); e.code != 2 || !strings.Contains(e.stdout, "found ") || !strings.Contains(e.stderr, "--yes") ||
				count("plimsoll_ledger") != rest {
				t.Errorf("without a record: %d, %s%s", e.code, e.stdout, e.stderr)
			}
			told("drill", "clean", "env:OWN_URI", "--yes").must(t, 0)
			for _, c := range []string{"plimsoll_ledger", "plimsoll_drill_seeds", "mine"} {
				if n := count(c); n != 1 {
					t.Errorf("%s has %d documents, not the foreign one alone", c, n)
				}
			}
			if e := told("drill", "clean", "env:OWN_URI").must(t, 0); !strings.Contains(e.stdout, "nothing was removed") {
				t.Errorf("a second time: %s", e.stdout)
			}
			_, err = os.Stat(filepath.Join(dirs[0], record.DrillFile))
			if err != nil {
				t.Errorf("the record: %v", err)
			}
		})
	}
}

// refusesWrongPassword runs commands with a wrong password, which must say so.
func refusesWrongPassword(t *testing.T, uri string, commands ...[]string) {
	t.Helper()
	wrong := func(c *exec.Cmd) { c.Env = append(c.Env, "OWN_URI="+strings.Replace(uri, "writer:", "writer:x", 1)) }
	for _, args := range commands {
		e := startChanged(t, wrong, args...).wait(t)
		if e.code != 3 || !strings.Contains(e.stderr, `authentication failed for user "writer" on database "admin"`) ||
			strings.Contains(e.stderr, "deadline") {
			t.Errorf("%q with a wrong password: %d, %s", args[:2], e.code, e.stderr)
		}
	}
}

// killTwoDrills kills two drills while they write, and returns their records. That of a running one is refused.
func killTwoDrills(t *testing.T, own func(*exec.Cmd), drill []string, count func() int) (dirs []string) {
	t.Helper()
	for range 2 {
		d := startChanged(t, own, drill...)
		before := count()
		d.until(t, "writes", func() bool { return count() > before+30 })
		dir := filepath.Join(d.dir, out)
		if e := startChanged(t, own, "drill", "clean", dir, "env:OWN_URI").wait(t); e.code != 2 || !strings.Contains(e.stderr, "is running") {
			t.Errorf("of a running drill: %d, %s%s", e.code, e.stdout, e.stderr)
		}
		d.signal(t, syscall.SIGKILL)
		<-d.done
		dirs = append(dirs, dir)
	}
	return dirs
}

// A drill of another workload leaves documents among others, and counters in others. Only those go.
func TestMongoDrillCleanOfAWorkload(t *testing.T) {
	inTurn(t, 5)
	binary, ok := enginetest.RealMongo(t)
	if !ok {
		return // the stand-in knows no $exists
	}
	set := enginetest.StartSet(t, binary, 1)
	client, err := mongo.Connect(options.Client().ApplyURI(set.URI))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(t.Context()) }()
	d := start(t, "drill", set.URI, "--external", "--duration", "60s", "--rate", "100", "--threads", "4", "--workload", "ycsb-d", "--records", "200",
		"--quiet", "--out", out)
	users := client.Database("plimsoll").Collection("usertable")
	marked := func() int64 {
		n, err := users.CountDocuments(t.Context(), bson.D{{Key: "_plimsoll", Value: bson.D{{Key: "$exists", Value: true}}}})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	d.until(t, "writes", func() bool { return marked() > 10 })
	d.signal(t, syscall.SIGKILL)
	<-d.done
	e := plimsoll(t, "drill", "clean", filepath.Join(d.dir, out)).must(t, 0)
	all, err := users.CountDocuments(t.Context(), bson.D{})
	if err != nil || all != 200 || marked() != 0 || !strings.Contains(e.stdout, "kept the other documents of plimsoll.usertable") {
		t.Errorf("%d documents are left, %d of them of the drill: %v\n%s", all, marked(), err, e.stdout)
	}
}
