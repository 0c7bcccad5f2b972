package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// auditSpeed reads auditDocuments documents of auditPayload bytes each.
const (
	auditDocuments = 50_000
	auditPayload   = 1000
)

// auditSpeed compares an audit with scans that only count the documents, through the same client and server,
// alternating: the plain scan of any program, and the scan that the audit makes.
func auditSpeed(ctx context.Context, w io.Writer, c config) error {
	uri, end, err := documentDB(ctx)
	if err != nil {
		return err
	}
	client, err := driver.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return errors.Join(err, end())
	}
	err = auditRatio(ctx, w, max(3, c.rounds), scanned{client.Database("bench")})
	return errors.Join(err, client.Disconnect(context.WithoutCancel(ctx)), end())
}

func auditRatio(ctx context.Context, w io.Writer, blocks int, src scanned) error {
	books := ledger.New(ledger.Options{Run: 1, Writers: 1})
	own, err := books.Workload(ledger.Params{Insert: 1, Payload: auditPayload})
	if err != nil {
		return err
	}
	if err := src.write(ctx, books, own); err != nil {
		return err
	}
	audit := func() error {
		result, err := books.Audit(ctx, ledger.AuditOptions{Workload: own, Final: src})
		if err == nil && result.Inserts["ok"] != auditDocuments {
			err = fmt.Errorf("the audit found %v of %d documents", result.Inserts, auditDocuments)
		}
		return err
	}
	took, err := thereAndBack(blocks, []func() error{src.plain(ctx), src.only(ctx), audit})
	if err != nil {
		return err
	}
	var ratios, beside, rates []float64
	for _, t := range took {
		ratios = append(ratios, t[0].Seconds()/t[2].Seconds())
		beside = append(beside, t[1].Seconds()/t[2].Seconds())
		rates = append(rates, 2*auditDocuments/t[2].Seconds())
	}
	ratio, _, _ := stats.MedianInterval(ratios, 0.95)
	same, _, _ := stats.MedianInterval(beside, 0.95)
	rate, _, _ := stats.MedianInterval(rates, 0.95)
	fmt.Fprintf(w, "\nAudit of %d documents of 1 kB on documentdb, compared with a plain scan through the same client; "+
		"median of %d blocks\n", auditDocuments, blocks)
	_, err = fmt.Fprintf(w, "  %.0f documents per second, × %.3f of the plain scan (%.3f to %.3f), goal ≥ 1: %s\n"+
		"  × %.3f of the audit's own scan without checking the documents (%.3f to %.3f)\n", rate, ratio,
		slices.Min(ratios), slices.Max(ratios), verdict(ratio >= 1), same, slices.Min(beside), slices.Max(beside))
	return err
}

// thereAndBack calls all functions twice per block, forwards and then backwards, so that none gains from its place. It
// returns the total durations by block and function.
func thereAndBack(blocks int, all []func() error) ([][]time.Duration, error) {
	took := make([][]time.Duration, blocks)
	for block := range took {
		took[block] = make([]time.Duration, len(all))
		for turn := range 2 * len(all) {
			at := min(turn, 2*len(all)-1-turn)
			began := time.Now()
			if err := all[at](); err != nil {
				return nil, err
			}
			took[block][at] += time.Since(began)
		}
	}
	return took, nil
}

// scanned is a [ledger.Source] that reads a database as drills do.
type scanned struct{ db *driver.Database }

func (s scanned) Name() string { return ledger.FinalRead }

func (s scanned) Scan(ctx context.Context, collection string, each func(doc []byte) error) error {
	return drill.Scan(ctx, s.db.Collection(collection), each)
}

// only is the audit's scan without the audit.
func (s scanned) only(ctx context.Context) func() error {
	return func() error {
		n := 0
		err := s.Scan(ctx, ledger.DefaultCollection, func([]byte) error { n++; return nil })
		return allOf(n, err)
	}
}

// plain is the scan of any program, without options.
func (s scanned) plain(ctx context.Context) func() error {
	return func() error {
		cursor, err := s.db.Collection(ledger.DefaultCollection).Find(ctx, bson.D{})
		if err != nil {
			return err
		}
		defer cursor.Close(ctx)
		n := 0
		for cursor.Next(ctx) {
			n++
		}
		return allOf(n, cursor.Err())
	}
}

func allOf(n int, err error) error {
	if err == nil && n != auditDocuments {
		return fmt.Errorf("the scan found %d of %d documents", n, auditDocuments)
	}
	return err
}

// write inserts the documents of a writer of the ledger's own workload and records the acknowledgements in the ledger.
func (s scanned) write(ctx context.Context, books *ledger.Ledger, own workload.Workload) error {
	stream := own.Stream(0, 1)
	observe := books.Observe(0)
	var op workload.Op
	var docs []any
	for range auditDocuments {
		stream.Next(&op)
		docs = append(docs, bson.Raw(slices.Clone(op.Requests[0].Docs[0])))
		observe(&op, &load.Settlement{Confirmed: 1, Failed: -1, Attempts: 1})
		if len(docs) == 1000 {
			if _, err := s.db.Collection(ledger.DefaultCollection).InsertMany(ctx, docs); err != nil {
				return err
			}
			docs = docs[:0]
		}
	}
	return nil
}
