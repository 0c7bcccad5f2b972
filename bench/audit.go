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

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// auditDocuments is how many documents of auditPayload bytes auditSpeed reads.
const (
	auditDocuments = 50_000
	auditPayload   = 1000
	auditBatch     = 5000 // documents per answer of the server, as a drill asks for
)

// auditSpeed compares an audit with a scan that only looks how many documents there are, through the same client and from
// the same server, in turns.
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
	if err := src.write(ctx, own); err != nil {
		return err
	}
	audit := func() error {
		result, err := books.Audit(ctx, ledger.AuditOptions{Workload: own, Final: src})
		if err == nil && result.Inserts["ok"] != auditDocuments {
			err = fmt.Errorf("the audit found %v of %d documents", result.Inserts, auditDocuments)
		}
		return err
	}
	plain := func() error {
		n := 0
		err := src.Scan(ctx, ledger.DefaultCollection, func([]byte) error { n++; return nil })
		if err == nil && n != auditDocuments {
			err = fmt.Errorf("the scan found %d of %d documents", n, auditDocuments)
		}
		return err
	}
	var ratios, rates []float64
	for block := range blocks {
		var sum [2]time.Duration
		for i := range 4 {
			at := ((i+1)/2 + block) % 2
			began := time.Now()
			if err := []func() error{plain, audit}[at](); err != nil {
				return err
			}
			sum[at] += time.Since(began)
		}
		ratios = append(ratios, sum[0].Seconds()/sum[1].Seconds())
		rates = append(rates, 2*auditDocuments/sum[1].Seconds())
	}
	ratio, _, _ := stats.MedianInterval(ratios, 0.95)
	rate, _, _ := stats.MedianInterval(rates, 0.95)
	fmt.Fprintf(w, "\naudit     of %d documents of 1 kB on documentdb, beside a plain scan through the same client; median of %d blocks\n", auditDocuments, blocks)
	// Two things of the same speed differ by a few hundredths from one measurement to the next.
	_, err = fmt.Fprintf(w, "  %.0f documents per second, %.3f of the plain scan (%.3f to %.3f), goal 1, give or take 0.03: %s\n", rate, ratio,
		slices.Min(ratios), slices.Max(ratios), verdict(ratio > 0.97))
	return err
}

// scanned is a source that reads a database as a drill does.
type scanned struct{ db *driver.Database }

func (s scanned) Name() string { return ledger.FinalRead }

// Scan implements [ledger.Source].
func (s scanned) Scan(ctx context.Context, collection string, each func(doc []byte) error) error {
	cursor, err := s.db.Collection(collection).Find(ctx, bson.D{}, options.Find().SetBatchSize(auditBatch))
	if err != nil {
		return err
	}
	defer cursor.Close(ctx)
	for cursor.Next(ctx) {
		if err := each(cursor.Current); err != nil {
			return err
		}
	}
	return cursor.Err()
}

// write inserts what a writer of the ledger's own workload would, and tells the ledger so.
func (s scanned) write(ctx context.Context, own workload.Workload) error {
	stream := own.Stream(0, 1)
	var op workload.Op
	var docs []any
	for range auditDocuments {
		stream.Next(&op)
		docs = append(docs, bson.Raw(slices.Clone(op.Requests[0].Docs[0])))
		stream.(load.Settler).Settle(&op, &load.Settlement{Confirmed: 1, Failed: -1, Attempts: 1})
		if len(docs) == 1000 {
			if _, err := s.db.Collection(ledger.DefaultCollection).InsertMany(ctx, docs); err != nil {
				return err
			}
			docs = docs[:0]
		}
	}
	return nil
}
