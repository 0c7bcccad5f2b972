package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/embedded"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// The engines that cannot do everything that a workload file can ask for.
const (
	engineEmbedded   = "embedded"
	engineDocumentDB = "documentdb"
	engineStandalone = "standalone" // a mongod without a replica set
)

// CheckEngine refuses a workload file with operations or indexes that the engine cannot do. It names the operation.
func CheckEngine(asked spec.Run, engine string) error {
	if !asked.Workload.IsFile() {
		return nil // every engine can do what the built-in workloads ask for
	}
	w, err := openWorkload(asked, Options{}, time.Now())
	if err != nil {
		return err
	}
	return checkEngine(w, engine)
}

// CheckLab refuses a run that a lab cannot do: what its engine lacks, and data that do not fit on its volumes.
func CheckLab(l spec.Lab, asked spec.Run) error {
	engine := ""
	if l.Engine.Name == spec.LabDocumentDB {
		engine = engineDocumentDB
	}
	if err := CheckEngine(asked, engine); err != nil {
		return err
	}
	return checkRoom(l, asked)
}

// engineOf returns the engine of a target, "" for one that can do everything.
func engineOf(t Target, info store.Info) string {
	switch {
	case t.Kind == "embedded":
		return engineEmbedded
	case info.Kind == server.FerretDB:
		return engineDocumentDB
	case info.Topology == "standalone" && info.Kind == server.Mongod:
		return engineStandalone
	}
	return ""
}

// checkConfirmed refuses transactions whose writes the run would not confirm: a commit without a reply proves nothing.
func checkConfirmed(w workload.Workload, asked spec.Run) error {
	e, ok := workload.As[workload.Exemplar](w)
	if !ok || asked.Durability.At(asked.Target).W != "0" {
		return nil
	}
	for _, example := range e.Examples() {
		r := &example.Requests[0]
		if r.Starts && (r.Concern == nil || r.Concern.W == "" && r.Concern.Journal == nil) {
			return fmt.Errorf("workload %s: operation %s: a transaction cannot have the write concern w: 0 of the run (durability %s). Give the "+
				"operation a write_concern", w.Name(), example.Class, asked.Durability.Name)
		}
	}
	return nil
}

// checkWorkers refuses a load whose workers all read change streams, so that nothing else is done.
func checkWorkers(w workload.Workload, asked spec.Run) error {
	p, ok := workload.As[interface{ Fewest() int }](w)
	if !ok {
		return nil
	}
	most := asked.Load.Workers
	for _, s := range asked.Load.Stages {
		most = max(most, s.Workers)
	}
	if fewest := p.Fewest(); int(most) < fewest {
		return fmt.Errorf("workload %s: its change streams need a worker for each reader, and other operations one more. Give the load at "+
			"least %s (--threads, load.workers)", w.Name(), figure.Plural(fewest, "worker"))
	}
	return nil
}

func checkEngine(w workload.Workload, engine string) error {
	e, ok := workload.As[workload.Exemplar](w)
	if !ok || engine == "" {
		return nil
	}
	var all []error        // everything that is lacking
	var able, not []string // operations
	for _, example := range e.Examples() {
		for i := range example.Requests {
			if err := lacks(engine, &example.Requests[i]); err != nil {
				all = append(all, fmt.Errorf("workload %s: operation %s: %w", w.Name(), example.Class, err))
				not = append(not, example.Class)
				break
			}
		}
		if !slices.Contains(able, example.Class) {
			able = append(able, example.Class)
		}
	}
	for _, ix := range w.Indexes() {
		var err error
		switch {
		case engine == engineEmbedded:
			err = embedded.CheckIndex(&ix)
		case engine == engineDocumentDB && hasElement(ix.Options, "collation"):
			err = unable("documentdb", "collations")
		}
		if err != nil {
			all = append(all, fmt.Errorf("workload %s: index %s of %s: %w", w.Name(), ix.Name, ix.Collection, err))
		}
	}
	able = slices.DeleteFunc(able, func(name string) bool { return slices.Contains(not, name) })
	if len(all) > 0 && len(able) > 0 && engine == engineEmbedded {
		all = append(all, fmt.Errorf("the embedded store can do the rest of workload %s: %s. Remove the other operations and indexes from "+
			"a copy of its file", w.Name(), strings.Join(able, ", ")))
	}
	return errors.Join(all...)
}

func unable(engine, what string) error {
	return fmt.Errorf("%s does not support %s. Leave it out, or use a target that does", engine, what)
}

// lacks returns why an engine cannot do a request.
func lacks(engine string, req *workload.Request) error {
	transaction := req.Starts || req.Within || req.Verb == workload.Commit
	switch {
	case engine == engineEmbedded:
		return embedded.Check(req)
	case engine == engineStandalone && transaction:
		return unable("a standalone mongod", "transactions, which need a replica set")
	case engine == engineStandalone && req.Verb == workload.Watch:
		return unable("a standalone mongod", "change streams, which need a replica set")
	case engine != engineDocumentDB:
		return nil
	case transaction: // the gateway ignores them: it applies each write at once
		return unable("documentdb", "transactions")
	case req.Verb == workload.Watch:
		return unable("documentdb", "change streams")
	case req.Collation != nil:
		return unable("documentdb", "collations")
	}
	stages, _ := bson.RawArray(req.Pipeline).Values()
	for _, s := range stages {
		doc, ok := s.DocumentOK()
		if !ok {
			continue
		}
		if first, err := doc.IndexErr(0); err == nil && documentDBLacks[first.Key()] {
			return unable("documentdb", "the aggregation stage "+first.Key())
		}
	}
	return nil
}

// documentDBLacks are the stages that the open gateway was seen to refuse.
var documentDBLacks = map[string]bool{
	"$changeStream": true, "$changeStreamSplitLargeEvent": true, "$listLocalSessions": true, "$listSearchIndexes": true,
	"$listSessions": true, "$planCacheStats": true, "$queryStats": true, "$rankFusion": true, "$searchMeta": true,
	"$shardedDataDistribution": true,
}

func hasElement(elements []byte, name string) bool {
	return strings.Contains(string(elements), name+"\x00")
}
