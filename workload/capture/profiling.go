package capture

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Profiling is the state of the profiler of a database.
type Profiling struct {
	Level      int     `json:"level"` // 0: off, 1: slow operations, 2: all
	SlowMillis int64   `json:"slowms"`
	SampleRate float64 `json:"sample_rate"`      // of the slow operations
	Filter     string  `json:"filter,omitempty"` // Extended JSON, replaces level and slowms (MongoDB 4.4.2)
	// Made says that system.profile did not exist before, so undoing drops it.
	Made bool `json:"made,omitempty"`
}

// String returns the shell command that sets the profiler so.
func (p Profiling) String() string {
	options := fmt.Sprintf("slowms: %d, sampleRate: %g", p.SlowMillis, p.SampleRate)
	if p.Filter != "" {
		options += ", filter: " + p.Filter
	}
	return fmt.Sprintf("db.setProfilingLevel(%d, {%s})", p.Level, options)
}

// QueryProfiling returns the state of the profiler.
func (d *Database) QueryProfiling(ctx context.Context) (Profiling, error) {
	reply, err := d.run(ctx, bson.D{{Key: "profile", Value: -1}})
	if err != nil {
		return Profiling{}, err
	}
	return readProfiling(reply), nil
}

func readProfiling(reply bson.Raw) Profiling {
	p := Profiling{SampleRate: 1}
	if v, ok := reply.Lookup("was").AsInt64OK(); ok {
		p.Level = int(v)
	}
	p.SlowMillis, _ = reply.Lookup("slowms").AsInt64OK()
	if v, err := reply.LookupErr("sampleRate"); err == nil {
		p.SampleRate, _ = v.AsFloat64OK()
	}
	if filter, ok := reply.Lookup("filter").DocumentOK(); ok {
		text, _ := bson.MarshalExtJSON(filter, true, false)
		p.Filter = string(text)
	}
	return p
}

// profileSize is the size of a system.profile that is made. The server's own has 1 MiB, some hundred operations.
const profileSize = 64 << 20

// Plan returns what undoes a change of the profiler. Write it down before [Database.SetProfiling].
func (d *Database) Plan(ctx context.Context) (Profiling, error) {
	before, err := d.QueryProfiling(ctx)
	if err != nil {
		return before, err
	}
	names, err := d.db().ListCollectionNames(ctx, bson.D{{Key: "name", Value: "system.profile"}})
	before.Made = err == nil && len(names) == 0
	return before, err
}

// SetProfiling sets the profiler. Where made is true, it makes a system.profile with room for many operations.
func (d *Database) SetProfiling(ctx context.Context, p Profiling, made bool) error {
	if made {
		err := d.db().CreateCollection(ctx, "system.profile", options.CreateCollection().SetCapped(true).SetSizeInBytes(profileSize))
		if err != nil {
			return err
		}
	}
	return d.setProfiling(ctx, p)
}

func (d *Database) setProfiling(ctx context.Context, p Profiling) error {
	cmd := bson.D{{Key: "profile", Value: p.Level}, {Key: "slowms", Value: p.SlowMillis}, {Key: "sampleRate", Value: p.SampleRate}}
	if p.Filter != "" {
		var filter bson.D
		if err := bson.UnmarshalExtJSON([]byte(p.Filter), true, &filter); err != nil {
			return err
		}
		cmd = append(cmd, bson.E{Key: "filter", Value: filter})
	}
	_, err := d.run(ctx, cmd)
	return err
}

// Restore undoes a change of the profiler.
func (d *Database) Restore(ctx context.Context, before Profiling) error {
	if before.Made { // a collection can be dropped only while the profiler is off
		off := before
		off.Level, off.Filter = 0, ""
		if err := d.setProfiling(ctx, off); err != nil {
			return err
		}
		if err := d.db().Collection("system.profile").Drop(ctx); err != nil {
			return err
		}
	}
	return d.setProfiling(ctx, before)
}

// Profile calls each with the operations in the profile from a time on. With follow, it waits for further ones until
// ctx ends. lost counts how often operations were overwritten before they could be read.
func (d *Database) Profile(ctx context.Context, from time.Time, follow bool,
	each func(bson.Raw)) (lost int, err error) {
	p := passes{from: from, known: map[uint64]occurrence{}, seed: maphash.MakeSeed()}
	read := func(ctx context.Context, o *options.FindOptionsBuilder) error {
		since := bson.D{{Key: "ts", Value: bson.D{{Key: "$gte", Value: p.begin()}}}}
		cursor, err := d.db().Collection("system.profile").Find(ctx, since, o)
		if err != nil {
			return err
		}
		for cursor.Next(ctx) {
			if p.isNew(cursor.Current) {
				each(cursor.Current)
			}
		}
		return errors.Join(cursor.Err(), cursor.Close(context.WithoutCancel(ctx)))
	}
	for {
		reading, o, last := ctx, options.Find(), follow && ctx.Err() != nil
		switch {
		case last: // the entries since the last answer
			var cancel context.CancelFunc
			reading, cancel = context.WithTimeout(context.WithoutCancel(ctx), patience)
			defer cancel()
		case follow:
			o.SetCursorType(options.TailableAwait).SetMaxAwaitTime(time.Second)
		}
		err := read(reading, o)
		var refused mongo.CommandError
		const positionLost = 136
		switch {
		case errors.As(err, &refused) && refused.Code == positionLost:
			lost++
		case follow && !last && ctx.Err() != nil:
			continue
		case err != nil, last, !follow:
			return lost, err
		}
		select { // a tailable cursor on an empty collection ends at once
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// overlap is how much of the profile each pass reads again. Operations come into the profile a little later than they
// end, in another order, and several in one millisecond.
const overlap = time.Second

// passes tells the entries that an earlier pass over the profile has read from new ones. Entries have no identity, so
// equal ones are counted.
type passes struct {
	from, newest, pruned time.Time
	known                map[uint64]occurrence
	seed                 maphash.Seed
	pass                 int
}

// occurrence is an entry of the profile: how often it was read in all passes, and how often in the last one of them.
type occurrence struct {
	at         time.Time
	all, inOne int
	pass       int
}

// begin returns the time from which the next pass reads.
func (p *passes) begin() time.Time {
	p.pass++
	if again := p.newest.Add(-overlap); again.After(p.from) {
		return again
	}
	return p.from
}

func (p *passes) isNew(entry bson.Raw) bool {
	at, _ := entry.Lookup("ts").TimeOK()
	if at.After(p.newest) {
		p.newest = at
	}
	if p.newest.Sub(p.pruned) > 2*overlap {
		p.pruned = p.newest
		maps.DeleteFunc(p.known, func(_ uint64, o occurrence) bool { return p.newest.Sub(o.at) > overlap })
	}
	hash := maphash.Bytes(p.seed, entry)
	o := p.known[hash]
	if o.pass != p.pass {
		o.pass, o.inOne = p.pass, 0
	}
	o.at, o.inOne = at, o.inOne+1
	fresh := o.inOne > o.all
	o.all = max(o.all, o.inOne)
	p.known[hash] = o
	return fresh
}
