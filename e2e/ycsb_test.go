//go:build !race

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
)

// TestYCSB loads and runs a property file with YCSB's command line, through both clients. The documents are those that
// `plimsoll run` loads, and the server has as many as the summary says.
func TestYCSB(t *testing.T) {
	inTurn(t, 5)
	file := filepath.Join(t.TempDir(), "workload")
	text := fmt.Sprintf("# a workload in a file\nworkload=site.ycsb.workloads.CoreWorkload\nrecordcount=%d\noperationcount=%d\nreadallfields=true\n\n"+
		"readproportion=0.9\nupdateproportion=0\nscanproportion=0\ninsertproportion=0.1\nrequestdistribution=latest\n", records, operations)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	forEachServer(t, func(t *testing.T, s *server) {
		byRun := newDatabase("run")
		plimsoll(t, "run", s.uri, "--database", byRun, "--workload", "ycsb-d", "--records", strconv.Itoa(records), "--seed", "7",
			"--load", "only", "--quiet").must(t, 0)
		same := s.dump(t, byRun, "usertable")
		for _, client := range clients {
			t.Run(client, func(t *testing.T) {
				address, err := mongouri.Parse(s.uri)
				if err != nil {
					t.Fatal(err)
				}
				db := newDatabase("ycsb", client)
				address.Path = db
				args := []string{"mongodb", "-P", file, "-p", "mongodb.url=" + address.String(), "-threads", "4", "-s",
					"-p", "plimsoll.client=" + client, "-p", "plimsoll.seed=7", "-p", "plimsoll.strict=true"}
				load := plimsoll(t, append([]string{"ycsb", "load"}, args...)...).must(t, 0)
				loaded := s.dump(t, db, "usertable")
				if n := load.summary("INSERT"); n != records || len(loaded) != n {
					t.Errorf("%d inserts are said to be ok, %d documents are there, %d were wanted", n, len(loaded), records)
				}
				originalShape().check(t, loaded)
				sameDocuments(t, loaded, same, "ycsb load and run --workload ycsb-d")

				run := plimsoll(t, append([]string{"ycsb", "run"}, args...)...).must(t, 0)
				inserts := run.summary("INSERT")
				if n := inserts + run.summary("READ"); n != operations || inserts == 0 {
					t.Errorf("%d operations of %d are said to be ok, %d of them inserts", n, operations, inserts)
				}
				docs := s.dump(t, db, "usertable")
				if len(docs) != records+inserts {
					t.Errorf("%d documents after %d more inserts", len(docs), inserts)
				}
				distinctIDs(t, docs)
				originalShape().check(t, docs)
			})
		}
	})
}

// summary is the number of successes that YCSB's summary has of an operation, 0 if it has none.
func (e ended) summary(operation string) int {
	m := regexp.MustCompile(`(?m)^\[` + operation + `\], Return=OK, (\d+)$`).FindStringSubmatch(e.stdout)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // digits
	return n
}
