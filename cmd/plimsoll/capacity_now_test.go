package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// present runs plimsoll capacity DIR --now and returns the exit code and the present load that the record keeps.
func present(t *testing.T, args ...string) (code int, p *record.PresentLoad, output string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "line")
	if _, err := (recordtest.Capacity{}).Write(dir); err != nil {
		t.Fatal(err)
	}
	code, output = plimsoll(t, append([]string{"capacity", dir, "--verbose", "--now-for", "10s", "--now"}, args...)...)
	c, err := record.OpenCapacity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Validity) > 0 {
		t.Errorf("the record is doubted: %v", c.Validity)
	}
	return code, c.Now, output
}

// The present load of a real mongod is that which clients send, and the reading itself is none. Each operation is sent
// at its time of a schedule, and what was sent is counted, so a busy machine changes nothing.
func TestMongoPresentLoad(t *testing.T) {
	t.Parallel() // it mostly waits
	binary, ok := enginetest.RealMongo(t)
	if !ok {
		return
	}
	uri := startServer(t, binary, t.TempDir())
	code, p, output := present(t, uri)
	if code != 0 || p == nil || p.Rate > 0.5 || !strings.Contains(output, "there is no load") {
		t.Fatalf("idle: exit code %d, %+v, %s", code, p, output)
	}

	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	coll, stop, sent := client.Database("shop").Collection("orders"), make(chan struct{}), make(chan float64)
	go func() { // 3 finds to one update
		n, begun := 0, time.Now()
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				sent <- float64(n) / time.Since(begun).Seconds()
				return
			case <-ticker.C:
			}
			if n++; n%4 == 0 {
				more := bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 1}}}}
				_, _ = coll.UpdateOne(t.Context(), bson.D{{Key: "_id", Value: 1}}, more)
			} else {
				_ = coll.FindOne(t.Context(), bson.D{{Key: "_id", Value: 1}}).Err()
			}
		}
	}()
	code, p, output = present(t, uri, "--growth=4%/month")
	close(stop)
	rate := <-sent
	if code != 0 || p == nil || p.Rate < 0.7*rate || p.Rate > 1.4*rate {
		t.Fatalf("%v operations/s were sent: exit code %d, %+v, %s", rate, code, p, output)
	}
	share := map[string]float64{}
	for _, o := range p.ByOperation {
		share[o.Name] = o.Share
	}
	if share["find"] < 0.73 || share["find"] > 0.77 || share["find"]+share["update"] < 0.99 {
		t.Errorf("shares %v", share)
	}
	for _, want := range []string{"of the line", "% are of another kind", "find 7", "% measured", "plimsoll workload record", "At 4%/month"} {
		if !strings.Contains(output, want) {
			t.Errorf("the output does not have %q: %s", want, output)
		}
	}
	if p.Writes == nil || *p.Writes <= 0 || p.ReachedAt == nil {
		t.Errorf("%+v", p)
	}
}

func TestPresentLoadIsRefused(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		code int
		says string
		args []string
	}{
		{exitUnreachable, "cannot read the present load", []string{"mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100"}},
		{exitUsage, "nor a recording", []string{"nowhere.recording"}},
		{exitUsage, "4%/month", []string{"mongodb://h/", "--growth", "4"}},
		{exitUsage, "it must be from", []string{"mongodb://h/", "--now-for", "1s"}},
	} {
		if code, p, output := present(t, x.args...); code != x.code || p != nil || !strings.Contains(output, x.says) {
			t.Errorf("%q: exit code %d, %s", x.args, code, output)
		}
	}
	if code, output := plimsoll(t, "capacity", t.TempDir(), "--now=mongodb://h/"); code != exitUsage {
		t.Errorf("without a record: %d, %s", code, output)
	}
}

// A changed record does not get new checksums by its present load.
func TestPresentLoadIsNotKeptInAChangedRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "line")
	c, err := recordtest.Capacity{Now: 0.95}.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := keepPresent(dir, c); err != nil {
		t.Errorf("an honest record is refused: %v", err)
	}
	text, _ := json.Marshal(c)
	write(t, filepath.Join(dir, record.CapacityFile), string(text)+" ")
	if c, err = record.OpenCapacity(dir); err != nil {
		t.Fatal(err)
	}
	if err := keepPresent(dir, c); err == nil {
		t.Error("a changed record was written")
	}
}
