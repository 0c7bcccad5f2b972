package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// plant is one limit.
type plant struct {
	name, lie string
	strengths []float64
	label     limit.Label
	latency   bool   // it is the answer for the latency
	notFound  string // why the label is not claimed; "" if it is
	// most is the highest rate of the ladder by the throughput of the closed loop; 0 is that of shares. A cache takes
	// writes for some seconds.
	most float64
	// workers are those of the closed loop that shows the throughput without the limit; 0 are those of the run.
	workers spec.Count
	// set plants it and returns the run that it limits, and how to remove it.
	set func(ctx context.Context, t *trial, strength float64) (asked spec.Run, remove func(), err error)
}

// Workloads of the plants. The server uses much more CPU for a scan than the client.
const (
	smallReads = `name: small
collections: [{name: small, count: 5k, document: {text: {$string: {size: 200}}}}]
operations: [{name: read, findOne: small, filter: {_id: {$uniform: small}}}]
`
	largeReads = `name: large
collections: [{name: large, count: 200, document: {text: {$string: {size: 50000}}}}]
operations: [{name: read, findOne: large, filter: {_id: {$uniform: large}}}]
`
	scans = `name: scans
collections: [{name: scans, count: 1k, document: {n: {$int: {min: 1, max: 9}}}}]
operations: [{name: scan, find: scans, filter: {n: 10}, empty: true}]
`
	longScans = `name: long-scans
collections: [{name: scans, count: 10k, document: {n: {$int: {min: 1, max: 9}}}}]
operations: [{name: scan, find: scans, filter: {n: 10}, empty: true}]
`
	// The transaction keeps its document for a round trip.
	oneDocument = `name: one
collections: [{name: one, count: 1, document: {n: 0}}, {name: others, count: 100, document: {n: 0}}]
operations:
  - name: increment
    transaction:
      - {name: look, findOne: others, filter: {_id: {$uniform: others}}}
      - {name: add, update: one, filter: {_id: {$uniform: one}}, with: {$inc: {n: 1}}}
`
	smallUpdates = `name: small-updates
collections: [{name: small, count: 20k, document: {n: {$long: {max: 2}}}}]
operations: [{name: update, update: small, filter: {_id: {$uniform: small}}, with: {$inc: {n: 1}}}]
`
	coldReads = `name: cold
collections: [{name: cold, count: 2k, document: {data: {$binary: {size: 20KiB}}}}]
operations: [{name: read, findOne: cold, filter: {_id: {$uniform: cold}}}]
`
	coldUpdates = `name: updates
collections: [{name: updates, count: 2k, document: {data: {$binary: {size: 20KiB}}}}]
operations:
  - {name: update, update: updates, filter: {_id: {$uniform: updates}}, with: {$set: {data: {$binary: {size: 20KiB}}}}}
`
)

var noDisk = faultfs.Device{}

func (l *limits) plants() []plant {
	return []plant{
		{name: "quota", lie: "a control group gives the server %.0f %% of the cores that it uses without",
			strengths: []float64{80, 40}, label: limit.CPU, set: l.quota},
		{name: "neighbours", lie: "%.0f busy programs share the cores of the server", strengths: []float64{2, 6},
			label: limit.CPU, set: l.neighbours},
		{name: "scan", lie: "queries without an index, over %.0f documents", strengths: []float64{1000, 10000},
			label: limit.CPU, set: l.scan},
		{name: "client", lie: "a control group gives the load generator %.0f %% of a core", strengths: []float64{30, 15},
			label: limit.Client, set: l.client},
		{name: "delay", lie: "a network that takes %.0f ms in each direction (latency)", strengths: []float64{5, 20},
			label: limit.Network, latency: true, set: l.delay},
		{name: "bandwidth", lie: "a network of %.0f Mbit/s, and documents of 50 kB", strengths: []float64{100, 50},
			label: limit.Network, set: l.bandwidth},
		{name: "pool", lie: "a pool of %.0f connections for 64 workers, over a network of 2 ms",
			strengths: []float64{8, 4}, label: limit.Connections, set: l.pool},
		{name: "conflicts", lie: "%.0f workers increment one document in transactions, over a network of 2 ms",
			strengths: []float64{32, 64}, label: limit.Conflicts, workers: 4, set: l.conflicts},
		{name: "lock", lie: "fsyncLock holds the global lock for 60 ms each, with pauses of %.0f ms",
			strengths: []float64{20, 8}, label: limit.Locks, set: l.lock,
			notFound: "often the queue of tickets grows more than the waits for the lock: *locks* is only suggested"},
		{name: "tickets", lie: "%.0f read tickets, and reads of pages that take 20 ms from a disk that serves all at once",
			strengths: []float64{10, 5}, label: limit.Tickets, set: l.tickets},
		{name: "reads", lie: "a disk that reads one page at a time, in %.0f ms, and 5 times the data of the cache",
			strengths: []float64{2, 5}, label: limit.DiskReads, set: l.reads},
		{name: "writes", lie: "a disk that writes %.0f MB/s, and a small cache", strengths: []float64{12, 8},
			label: limit.DiskWrites, most: 3, set: l.writes,
			notFound: "eviction and unexplained time grow more than the queue of the disk: *disk writes* is only suggested"},
		{name: "flush", lie: "a disk whose flush takes %.0f ms, and updates with j: true (latency)",
			strengths: []float64{10, 30}, label: limit.Flushes, latency: true, set: l.flush},
		{name: "majority", lie: "both secondaries flush in %.0f ms, and updates with w: majority",
			strengths: []float64{20, 50}, label: limit.Replication, latency: true, set: l.majority},
		{name: "router", lie: "a control group gives the router %.0f %% of a core", strengths: []float64{20, 10},
			label: limit.Router, set: l.router},
	}
}

// plain is a run on the plain server.
func (l *limits) plain(ctx context.Context, workload string) (*site, spec.Run, error) {
	s, err := l.at(ctx, plainSite, noDisk)
	if err != nil {
		return nil, spec.Run{}, err
	}
	return s, l.asked(s.uri, workload), nil
}

func (l *limits) quota(ctx context.Context, t *trial, strength float64) (spec.Run, func(), error) {
	s, asked, err := l.plain(ctx, scans)
	if err != nil {
		return asked, nil, err
	}
	if l.cores == 0 {
		r, err := l.execute(ctx, t, asked, 0)
		if err != nil {
			return asked, nil, err
		}
		cores, _ := record.SeriesValues(r.Series)("server:"+s.address, "cpu.used")
		l.cores = cmp.Or(cores, 1)
	}
	remove, err := limitServer(s.process(0), time.Duration(l.cores*strength/100*float64(100*time.Millisecond)))
	return asked, remove, err
}

func (l *limits) neighbours(ctx context.Context, _ *trial, strength float64) (spec.Run, func(), error) {
	var all []*exec.Cmd
	remove := func() {
		for _, cmd := range all {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed
		}
	}
	_, asked, err := l.plain(ctx, scans)
	for range int(strength) {
		if err != nil {
			break
		}
		cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
		if err = childproc.Start(cmd); err == nil {
			all = append(all, cmd)
		}
	}
	return asked, remove, err
}

func (l *limits) scan(ctx context.Context, _ *trial, strength float64) (spec.Run, func(), error) {
	workload := scans
	if strength > 1000 {
		workload = longScans
	}
	_, asked, err := l.plain(ctx, workload)
	return asked, nil, err
}

// client limits this process, which is the load generator.
func (l *limits) client(ctx context.Context, _ *trial, strength float64) (spec.Run, func(), error) {
	_, asked, err := l.plain(ctx, smallReads)
	if err != nil {
		return asked, nil, err
	}
	remove, err := limitServer(os.Getpid(), time.Duration(strength*float64(time.Millisecond)))
	return asked, remove, err
}

// through lets a run pass a network.
func (l *limits) through(ctx context.Context, workload string, n *network) (spec.Run, func(), error) {
	s, asked, err := l.plain(ctx, workload)
	if err != nil {
		return asked, nil, err
	}
	ln, err := n.to(ctx, s.address)
	if err != nil {
		return asked, nil, err
	}
	asked.Target = "mongodb://" + ln.Addr().String() + "/?directConnection=true"
	return asked, func() { _ = ln.Close() }, nil
}

func (l *limits) delay(ctx context.Context, _ *trial, strength float64) (spec.Run, func(), error) {
	return l.through(ctx, smallReads, &network{each: time.Duration(strength * float64(time.Millisecond))})
}

func (l *limits) bandwidth(ctx context.Context, _ *trial, strength float64) (spec.Run, func(), error) {
	return l.through(ctx, largeReads, &network{rate: strength * 1e6 / 8})
}

func (l *limits) pool(ctx context.Context, _ *trial, strength float64) (spec.Run, func(), error) {
	asked, remove, err := l.through(ctx, smallReads, &network{each: time.Millisecond})
	asked.Client = "driver"
	asked.Target += fmt.Sprintf("&maxPoolSize=%.0f", strength)
	return asked, remove, err
}

func (l *limits) conflicts(ctx context.Context, _ *trial, strength float64) (spec.Run, func(), error) {
	asked, remove, err := l.through(ctx, oneDocument, &network{each: time.Millisecond})
	asked.Load.Workers = spec.Count(strength)
	return asked, remove, err
}

// lockedFor is how long the plant of locks holds its lock. It needs no processor meanwhile, as validate would.
const lockedFor = 60 * time.Millisecond

// lock locks the server for backups again and again, so that writes wait. Reads of 5.0 do not wait for it.
func (l *limits) lock(ctx context.Context, _ *trial, strength float64) (spec.Run, func(), error) {
	s, asked, err := l.plain(ctx, smallUpdates)
	if err != nil {
		return asked, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			if s.admin(context.WithoutCancel(ctx), bson.D{{Key: "fsync", Value: 1}, {Key: "lock", Value: true}}) == nil {
				_ = wait.Sleep(ctx, lockedFor)
				_ = s.admin(context.WithoutCancel(ctx), bson.D{{Key: "fsyncUnlock", Value: 1}}) // the server may be gone
			}
			_ = wait.Sleep(ctx, time.Duration(strength*float64(time.Millisecond)))
		}
	})
	return asked, func() { cancel(); done.Wait() }, nil
}

// onDiskOf is a run on a server with a virtual disk, whose cache becomes small after the data are loaded.
func (l *limits) onDiskOf(ctx context.Context, t *trial, name, workload string, d faultfs.Device) (*site, spec.Run,
	error) {
	begun := l.sites[name] != nil
	s, err := l.at(ctx, name, d)
	if err != nil {
		return nil, spec.Run{}, err
	}
	asked := l.asked(s.uri, workload)
	if !begun {
		if _, err = l.execute(ctx, t, asked, 0); err == nil {
			err = s.admin(ctx, bson.D{{Key: "fsync", Value: 1}}) // the cache has to write its data before it gets smaller
		}
		if err == nil {
			err = s.admin(ctx, bson.D{{Key: "setParameter", Value: 1}, {Key: "wiredTigerEngineRuntimeConfig",
				Value: "cache_size=8M"}})
		}
	}
	return s, asked, err
}

func (l *limits) tickets(ctx context.Context, t *trial, strength float64) (spec.Run, func(), error) {
	s, asked, err := l.onDiskOf(ctx, t, "far", coldReads, faultfs.Device{FlushLatency: 100 * time.Microsecond})
	if err != nil {
		return asked, nil, err
	}
	fast, err := l.slow(ctx, s.disks, "read", 20*time.Millisecond)
	set := func(n int) error {
		return s.admin(context.WithoutCancel(ctx), bson.D{{Key: "setParameter", Value: 1},
			{Key: "wiredTigerConcurrentReadTransactions", Value: n}})
	}
	return asked, func() { fast(); _ = set(128) }, cmp.Or(err, set(int(strength)))
}

func (l *limits) reads(ctx context.Context, t *trial, strength float64) (spec.Run, func(), error) {
	_, asked, err := l.onDiskOf(ctx, t, fmt.Sprintf("reads%.0f", strength), coldReads,
		faultfs.Device{ReadLatency: time.Duration(strength * float64(time.Millisecond)), Parallel: 1})
	return asked, nil, err
}

func (l *limits) writes(ctx context.Context, t *trial, strength float64) (spec.Run, func(), error) {
	s, asked, err := l.onDiskOf(ctx, t, fmt.Sprintf("writes%.0f", strength), coldUpdates,
		faultfs.Device{WriteRate: int64(strength * 1e6)})
	if err == nil { // what the trial before left in the cache would still be written
		err = s.admin(ctx, bson.D{{Key: "fsync", Value: 1}})
	}
	return asked, nil, err
}

// slow makes requests of a kind take longer on disks, which serve all of them at the same time.
func (l *limits) slow(ctx context.Context, disks []string, kind string, longer time.Duration) (remove func(),
	err error) {
	ctx = context.WithoutCancel(ctx)
	for _, d := range disks {
		if err = l.disks.client.Set(ctx, d, faultfs.Fault{Kind: faultfs.Slow, Ops: []string{kind},
			Delay: longer}); err != nil {
			break
		}
	}
	return func() {
		for _, d := range disks {
			_ = l.disks.client.Clear(ctx, d, faultfs.Slow) // the server of the disks is gone
		}
	}, err
}

func (l *limits) flush(ctx context.Context, t *trial, strength float64) (spec.Run, func(), error) {
	s, asked, err := l.onDiskOf(ctx, t, "flush", smallUpdates, faultfs.Device{FlushLatency: 100 * time.Microsecond})
	if err != nil {
		return asked, nil, err
	}
	yes := true
	asked.Durability.W, asked.Durability.Journal = "1", &yes
	remove, err := l.slow(ctx, s.disks, "flush", time.Duration(strength*float64(time.Millisecond)))
	return asked, remove, err
}

func (l *limits) majority(ctx context.Context, _ *trial, strength float64) (spec.Run, func(), error) {
	s, err := l.at(ctx, setSite, noDisk)
	if err != nil {
		return spec.Run{}, nil, err
	}
	asked := l.asked(s.uri, smallUpdates)
	asked.Durability.W = "majority"
	remove, err := l.slow(ctx, s.disks, "flush", time.Duration(strength*float64(time.Millisecond)))
	return asked, remove, err
}

func (l *limits) router(ctx context.Context, _ *trial, strength float64) (spec.Run, func(), error) {
	s, err := l.at(ctx, routerSite, noDisk)
	if err != nil {
		return spec.Run{}, nil, err
	}
	remove, err := limitServer(s.process(len(s.servers)-1), time.Duration(strength*float64(time.Millisecond)))
	return l.asked(s.uri, smallReads), remove, err
}

// limitServer is [limitProcessor] for a process that runs on: lifting the limit moves it back.
func limitServer(pid int, quota time.Duration) (lift func(), err error) {
	remove, err := limitProcessor(pid, quota)
	if err != nil {
		return nil, err
	}
	return func() {
		for _, root := range []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"} {
			_ = os.WriteFile(filepath.Join(root, "cgroup.procs"), []byte(fmt.Sprint(pid)), 0o644) // one of them exists
		}
		remove()
	}, nil
}
