package embedded

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// crashChild is set in the environment of the child process that is killed.
const crashChild = "PLIMSOLL_TEST_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashChild); dir != "" {
		if err := insertForever(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// insertForever inserts with j:true from several sessions and prints the _id of every acknowledged
// document.
func insertForever(dir string) error {
	ctx := context.Background()
	st, err := openWith(ctx, dir, store.Config{Concern: journaled()}, options{memTableBytes: 256 << 10})
	if err != nil {
		return err
	}
	keys, err := marshal(d("n", 1))
	if err != nil {
		return err
	}
	if err := st.EnsureIndexes(ctx, []workload.Index{{Collection: "c", Name: "n_1", Keys: keys}}); err != nil {
		return err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range 4 {
		s, err := st.Session(w)
		if err != nil {
			return err
		}
		wg.Go(func() {
			for i := w; ; i += 4 {
				doc, _ := marshal(d("_id", i, "n", i, "pad", make([]byte, 400)))
				var res store.Result
				req := workload.Request{Verb: workload.Insert, Collection: "c", Docs: [][]byte{doc}}
				s.Do(time.Now().Add(time.Minute), &req, &res)
				if res.Outcome != store.OK {
					return
				}
				mu.Lock()
				fmt.Println(i)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return fmt.Errorf("the inserts ended")
}

// TestKilledProcessLosesNothingAcknowledged kills a process in the middle of journaled inserts, again
// and again in the same directory, and looks for every document that was acknowledged.
func TestKilledProcessLosesNothingAcknowledged(t *testing.T) {
	acked := map[int]bool{}
	for round, kill := range []int{50, 400, 2000} {
		dir := t.TempDir()
		clear(acked)
		killAfter(t, dir, kill, acked)
		st := open(t, dir, store.Concern{}, options{})
		x := testerOn(t, st)
		for id := range acked {
			if x.get(id) == nil {
				t.Errorf("round %d: document %d was acknowledged and is lost", round, id)
			}
		}
		all := x.expect(store.OK, findReq(t, d())).Docs
		byIndex := x.expect(store.OK, findReq(t, d("n", d("$gte", 0)))).Docs
		if all != byIndex || all < len(acked) {
			t.Errorf("round %d: %d documents, %d through the index, %d acknowledged", round, all, byIndex, len(acked))
		}
	}
}

// killAfter runs the child until it has acknowledged n documents and kills it. What it printed before
// it died is acknowledged too.
func killAfter(t *testing.T, dir string, n int, acked map[int]bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashChild+"="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		id, err := strconv.Atoi(lines.Text())
		if err != nil {
			continue // the last line was cut off by the kill
		}
		if len(acked) == 0 {
			checkInUse(t, dir)
		}
		if acked[id] = true; len(acked) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if len(acked) < n {
		t.Fatalf("the child acknowledged %d documents, want %d: %s", len(acked), n, stderr.String())
	}
}

// checkInUse: the store of a running process cannot be opened or removed by another one.
func checkInUse(t *testing.T, dir string) {
	t.Helper()
	_, err := openWith(context.Background(), dir, store.Config{}, options{})
	for _, err := range []error{err, Remove(dir)} {
		if err == nil || !strings.Contains(err.Error(), "in use by another process") {
			t.Errorf("a store that another process has open: %v", err)
		}
	}
}
