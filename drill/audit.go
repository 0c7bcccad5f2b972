package drill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store/shards"
)

// finalRead is the ledger's name of the read that decides.
const finalRead = record.FinalSource

// reachAtMost bounds the time until a source answers that refuses at first.
const reachAtMost = 60 * time.Second

// auditor opens what the audit of a round reads: the primary, each member, and what members gave up.
type auditor struct {
	drill    *runner
	target   *target
	database string
	mark     uint32 // of the round
	writer   *record.DrillWriter
	unread   []string // members that could not be read, and why
	broken   []string // backups that could not be restored, and why
}

// audit reads everything back. It returns why that failed, "" if it did not.
func (r *round) audit(ctx context.Context) string {
	own := &r.operations.observed
	if own.wrapped == nil || r.target.uri == "" {
		return "the target stores nothing that could be read back"
	}
	if r.redundancy.dead != nil {
		return "there was no final read: " + r.redundancy.dead.Error()
	}
	r.drill.progress.enter(record.StageAudit)
	r.drill.progress.Note("audit: reading all writes")
	o := ledger.AuditOptions{Workload: own.wrapped}
	if own.placed != nil {
		o.Shards = own.placed.Shards
		r.checkPlacement(ctx)
	}
	a := &auditor{drill: r.drill, target: r.target, database: r.spec.Run.Database, mark: r.result.Mark,
		writer: r.drill.writer}
	final, err := a.open(ctx, finalRead, r.target.uri, false)
	if err != nil {
		return "there was no final read: " + oneLine(err)
	}
	defer final.close()
	o.Final = final
	for _, f := range r.result.Faults {
		if f.Injected > 0 {
			o.Faults = append(o.Faults, r.effectiveIn(f))
		}
	}
	for _, s := range a.members(ctx) {
		defer s.close()
		o.Members = append(o.Members, s)
	}
	for _, c := range a.backups(ctx, r) {
		defer c.Source.(*source).close()
		o.Copies = append(o.Copies, c)
	}
	r.result.Unread = a.unread
	o.Discarded = a.discarded(ctx)
	o.Reads = r.guarantees().question(r.result, r.clock.shift)
	result, err := own.ledger.Audit(ctx, o)
	if err != nil {
		return "the audit failed: " + err.Error()
	}
	if len(result.Lost) > 0 && a.target.lab == nil {
		result.Unsearched = "Rollback files and discarded logs of the members could not be read, because only a lab gives access to them. For " +
			"mongod, look into the directory rollback below the dbPath of each member (bsondump reads its files)"
	}
	for i := range result.Lost {
		if result.Lost[i].Acknowledged >= 0 {
			result.Lost[i].Acknowledged += r.clock.shift
		}
	}
	r.guarantees().complete(result.Judged, r.clock.shift)
	r.result.Ledger = result
	if r.epochs != nil {
		if r.result.Isolation, err = r.isolation(ctx, final); err != nil {
			a.broken = append(a.broken, "the transactions were not judged: "+oneLine(err))
		}
	}
	if r.seeds != nil {
		if r.result.SeedsFound, err = r.seeds.found(ctx, final); err != nil {
			r.result.Seeds = 0 // nothing is known of them
			return "the seed documents could not be read: " + oneLine(err)
		}
	}
	return strings.Join(a.broken, "; ")
}

// reaction is how far the mark of a person may be from the moment of the fault.
const reaction = int64(time.Second)

// effectiveIn returns when a fault took effect, in times of operations, for the age of the writes that it lost.
func (r *round) effectiveIn(f record.DrillFault) ledger.Fault {
	e := tookEffect(f, r.result.Headline(), r.spec.External)
	unsure := r.operations.clockUncertainty
	e.Earliest, e.At, e.Latest = e.Earliest-r.clock.shift-unsure, e.At-r.clock.shift, e.Latest-r.clock.shift+unsure
	if placed := r.operations.observed.placed; placed != nil {
		for _, name := range f.Shards {
			if at := slices.Index(placed.Shards, name); at >= 0 {
				e.Shards = append(e.Shards, at)
			}
		}
	}
	return e
}

// tookEffect returns when a fault took effect. The injector began at Injected and was done by Done, and a witness may
// have seen the effect later than that. In between, the moment is that of the last success, if operations stopped then.
// A planned event has effects until it ends. The mark of an external fault is as exact as a person is.
func tookEffect(f record.DrillFault, all *record.DrillEffect, external bool) ledger.Fault {
	e := ledger.Fault{Earliest: f.Injected, At: f.Injected, Latest: max(f.Injected, f.Done, f.Seen)}
	if external {
		e.Earliest, e.Latest = e.Earliest-reaction, e.Latest+reaction
	}
	if all != nil && all.OutageFrom >= f.Injected {
		e.At = min(all.OutageFrom, e.Latest)
	}
	return e
}

// members opens each member that can be read directly.
func (a *auditor) members(ctx context.Context) (list []*source) {
	if a.target.lab == nil {
		a.unread = append(a.unread, "members: the target is not a lab, so only its address was read")
		return nil
	}
	var l record.Lab
	if err := a.drill.wait(ctx, "members of the lab "+a.target.lab.Name(), func(ctx context.Context) (err error) {
		l, err = a.target.lab.Observe(ctx)
		return err
	}); err != nil {
		a.unread = append(a.unread, "members: "+err.Error())
		return nil
	}
	for _, m := range l.Members {
		if !holdsData(m) {
			continue
		}
		s, err := a.member(ctx, l, m)
		if err != nil {
			a.unread = append(a.unread, m.Name+": "+oneLine(err))
			continue
		}
		list = append(list, s)
	}
	return list
}

func (a *auditor) member(ctx context.Context, l record.Lab, m record.LabMember) (*source, error) {
	switch {
	case l.Specification.Topology.Kind == spec.LabSharded:
		return nil, errors.New("a member of a sharded cluster does not have all documents")
	case m.State != "running":
		return nil, errors.New("it is " + m.State)
	case m.Kind == "postgres":
		return a.throughReader(ctx, m)
	}
	uri, err := run.MemberURI(a.target.uri, m.Address)
	if err != nil {
		return nil, err
	}
	s, err := a.open(ctx, m.Name, uri, true)
	if err == nil && m.LagSeconds != nil && *m.LagSeconds > 0 {
		s.behind = secondsText(*m.LagSeconds) + " behind the primary"
	}
	return s, err
}

// secondsText is the lag of a mongod, which is known in whole seconds, except that a fraction means not up to date.
func secondsText(lag float64) string {
	if lag < 1 {
		return "less than a second"
	}
	return fmt.Sprintf("%.0f s", lag)
}

// memberReader is a [Lab] that starts a server for reading a member that clients cannot reach.
type memberReader interface {
	ReadMember(ctx context.Context, member string) (*lab.MemberReading, error)
}

// throughReader opens a member through a server that the lab starts for that. It runs as long as the source is open.
func (a *auditor) throughReader(ctx context.Context, m record.LabMember) (*source, error) {
	from, ok := a.target.lab.(memberReader)
	if !ok {
		return nil, errors.New("the lab cannot read it directly")
	}
	reading, err := a.reading(ctx, "start of a server that reads "+m.Name, m.Name, from.ReadMember)
	if err != nil {
		return nil, err
	}
	a.writer.AddSecrets(reading.URI)
	s, err := a.open(ctx, m.Name, reading.URI, true)
	if err != nil {
		_ = reading.Close() // the lab stops it in any case
		return nil, err
	}
	s.lab = reading
	s.behind = behindText(reading.Behind)
	return s, nil
}

// reading waits for a server that the lab starts. The server lives as long as ctx, which is longer than the wait.
func (a *auditor) reading(ctx context.Context, what, member string,
	start func(context.Context, string) (*lab.MemberReading, error)) (reading *lab.MemberReading, err error) {
	living, end := context.WithCancel(ctx)
	err = a.drill.wait(ctx, what, func(limited context.Context) error {
		unregister := context.AfterFunc(limited, end)
		defer unregister()
		reading, err = start(living, member)
		return err
	})
	if err != nil {
		end()
		return nil, err
	}
	return reading, nil
}

// backupReader is a [Lab] that restores backups.
type backupReader interface {
	ReadBackup(ctx context.Context, member string) (*lab.MemberReading, error)
}

// backups restores the last backup of each member that an event of this round has backed up.
func (a *auditor) backups(ctx context.Context, r *round) (list []ledger.Copy) {
	from, ok := a.target.lab.(backupReader)
	for i := len(r.result.Faults) - 1; ok && i >= 0; i-- {
		f := r.result.Faults[i]
		name := "the backup of " + f.Target
		known := func(c ledger.Copy) bool { return c.Name() == name }
		if f.Fault.Name != fault.Backup || f.Event == nil || f.Event.Outcome != record.EventCompleted ||
			slices.ContainsFunc(list, known) {
			continue
		}
		c, err := a.backup(ctx, from, name, f)
		if err != nil {
			a.broken = append(a.broken, name+" cannot be restored: "+oneLine(err))
			continue
		}
		if c.Source == nil {
			continue
		}
		c.Begun -= r.clock.shift
		list = append(list, c)
	}
	return list
}

func (a *auditor) backup(ctx context.Context, from backupReader, name string,
	f record.DrillFault) (ledger.Copy, error) {
	reading, err := a.reading(ctx, "restore of "+name, f.Target, from.ReadBackup)
	if err != nil {
		return ledger.Copy{}, err
	}
	if a.target.before.Specification.Topology.Kind == spec.LabSharded {
		a.unread = append(a.unread, name+": it was restored and answers, but a shard does not have all documents")
		return ledger.Copy{}, reading.Close()
	}
	a.writer.AddSecrets(reading.URI)
	s, err := a.open(ctx, name, reading.URI, true)
	if err != nil {
		_ = reading.Close() // the lab stops it in any case
		return ledger.Copy{}, err
	}
	s.lab = reading
	return ledger.Copy{Source: s, Begun: f.Injected}, nil
}

// behindText says how many bytes of its primary's log a member had not applied; below 0 is not known. It is empty for
// none: only then does a difference mean that the member diverged.
func behindText(n int64) string {
	switch {
	case n < 0:
		return "its replication lag is not known"
	case n > 0:
		return figure.Bytes(n) + " of the primary's log were not applied"
	}
	return ""
}

// source reads documents back through the official driver, which is independent of the code that wrote them.
type source struct {
	name, what string // what is read, such as "final read", and through which servers
	client     *platform.Client
	patience   time.Duration
	db         *mongo.Database
	gateway    bool      // it is a gateway of documentdb
	mark       uint32    // of the round, in the write that begins the final read
	behind     string    // replication lag of a member, in words
	lab        io.Closer // the server that the lab started for the reading, or nil
	// session is causally after the fence, so that all shards answer as of then; nil without read concern majority.
	session *mongo.Session
}

// open opens one source and waits until it answers. direct reads a member, not the primary.
func (a *auditor) open(ctx context.Context, name, uri string, direct bool) (*source, error) {
	o := options.Client().SetServerSelectionTimeout(10 * time.Second)
	what := "read of " + name
	switch {
	case direct:
		o.SetReadPreference(readpref.SecondaryPreferred()).SetReadConcern(readconcern.Local())
	case a.target.level == "": // gateways of documentdb read as their level says
		o.SetReadPreference(readpref.Primary()).SetReadConcern(readconcern.Majority()).
			SetWriteConcern(writeconcern.Majority())
	}
	if !direct {
		what = "final read"
	}
	c, err := platform.Connect(uri, o)
	if err != nil {
		return nil, err
	}
	s := &source{name: name, what: what, client: c, mark: a.mark, patience: a.drill.patience(), db: c.Database(a.database),
		gateway: a.target.level != ""}
	through := " through " + a.target.addressText(uri)
	reaching := wait.Wait{Name: "begin of the " + what + through, Limit: a.drill.within(reachAtMost)}
	if err := reaching.Do(ctx, func(ctx context.Context) error {
		return s.reach(ctx, direct, a.target.level == "")
	}); err != nil {
		s.close()
		return nil, fmt.Errorf("%s does not answer: %w", name, err)
	}
	s.what += through
	return s, nil
}

// reach waits until the source answers and, unless it is a member, has confirmed a write.
func (s *source) reach(ctx context.Context, direct, majority bool) error {
	wait.Ask(ctx, s.client.Doing)
	for {
		err := s.client.Ping(ctx, nil)
		if err == nil && !direct {
			err = s.fence(ctx, majority)
		}
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			wait.Report(ctx, oneLine(err))
		}
		if perr := wait.Sleep(ctx, pollEvery); perr != nil {
			return perr
		}
	}
}

// fence makes sure that reads from here on return everything that was acknowledged before. A read of what a majority
// has is as of the last majority commit that the primary knows. That is a little behind what the primary acknowledged
// at a lower write concern, far behind as long as no majority answers, and behind what an earlier primary acknowledged
// until the new one has written something itself. All of that is over when the primary confirms a new write with a
// majority. A member that is not primary refuses the write.
func (s *source) fence(ctx context.Context, majority bool) error {
	if majority && s.session == nil {
		session, err := s.client.StartSession()
		if err != nil {
			return err
		}
		s.session = session
	}
	_, err := s.db.Collection(seedCollection).InsertOne(s.within(ctx), helping("fence", bson.NewObjectID(), s.mark))
	if err != nil {
		return fmt.Errorf("it confirms no write before the read, so the read might return an earlier state: %w", err)
	}
	return nil
}

// within makes reads causally consistent with the session.
func (s *source) within(ctx context.Context) context.Context {
	if s.session == nil {
		return ctx
	}
	return mongo.NewSessionContext(ctx, s.session)
}

func (s *source) close() {
	if s.session != nil {
		s.session.EndSession(context.Background())
	}
	s.client.Close()
	if s.lab != nil {
		_ = s.lab.Close() // the lab stops it in any case
	}
}

func (s *source) Name() string { return s.name }

var _ ledger.Late = (*source)(nil)

func (s *source) Behind() string { return s.behind }

// counted tells the listener of ctx how many of the documents of a collection were read. Gateways of documentdb would
// read the collection to count it, so the number of all is not known there.
func (s *source) counted(ctx context.Context, collection string, each func(doc []byte) error) func(doc []byte) error {
	part := wait.Part{Name: "audit: " + s.name + " read, " + collection, Of: "documents"}
	if !s.gateway {
		part.Total, _ = s.db.Collection(collection).EstimatedDocumentCount(ctx) // 0: not known
	}
	return func(doc []byte) error {
		if part.Done++; part.Done%countedEvery == 0 {
			wait.Advance(ctx, part)
		}
		return each(doc)
	}
}

// countedEvery is the number of documents between two reports.
const countedEvery = 1000

func (s *source) Scan(ctx context.Context, collection string, each func(doc []byte) error) error {
	reading := wait.Wait{Name: s.what + ", collection " + collection, Limit: s.patience}
	return reading.Do(ctx, func(ctx context.Context) error {
		wait.Ask(ctx, s.client.Doing)
		return Scan(s.within(ctx), s.db.Collection(collection), s.counted(ctx, collection, each))
	})
}

// scanBatch is the number of documents per batch. With documents of 1 kB, documentdb returns twice as many per second
// in batches of 1 to 2 MB as in the largest batches that it allows, which are its default.
const scanBatch = 2000

// Scan reads a collection as an audit does and calls each for every document, which is valid until each returns. It is
// one plain scan, not several scans of _id ranges: those use the index, which after a fault may lack documents that
// exist.
func Scan(ctx context.Context, from *mongo.Collection, each func(doc []byte) error) error {
	cursor, err := from.Find(ctx, bson.D{}, options.Find().SetBatchSize(scanBatch))
	if err != nil {
		return err
	}
	defer cursor.Close(ctx)
	for cursor.Next(ctx) {
		if cursor.RemainingBatchLength() == 0 {
			wait.Answered(ctx)
		}
		if err := each(cursor.Current); err != nil {
			return err
		}
	}
	return cursor.Err()
}

// seeds are records that are written and confirmed before the load, and must be there at the end.
type seeds struct {
	client     *platform.Client
	collection *mongo.Collection
	ids        []bson.ObjectID
}

const (
	seedRecords    = 2 // on each shard
	seedCollection = "plimsoll_drill_seeds"
)

// writeSeeds writes the seed documents: seedRecords on each shard. placed is nil without shards.
func writeSeeds(ctx context.Context, uri, database string, mark uint32, placed *shards.Map) (*seeds, error) {
	c, err := platform.Connect(uri, options.Client().SetServerSelectionTimeout(10*time.Second))
	if err != nil {
		return nil, err
	}
	// They are confirmed by a majority whatever the address says, so that losing them is always wrong.
	s := &seeds{client: c, collection: c.Database(database).Collection(seedCollection,
		options.Collection().SetWriteConcern(writeconcern.Majority()))}
	ctx, cancel := context.WithTimeout(ctx, reachAtMost)
	defer cancel()
	for _, at := range places(placed, seedRecords) {
		if _, err := s.collection.InsertOne(ctx, helping("seed", at.id, mark)); err != nil {
			s.close()
			return nil, fmt.Errorf("cannot write the seed documents: %w", err)
		}
		s.ids = append(s.ids, at.id)
	}
	return s, nil
}

// helping is a document that a round writes besides its load. kind is what it is, and mark is [record.DrillRound.Mark].
func helping(kind string, id bson.ObjectID, mark uint32) bson.D {
	return bson.D{{Key: "_id", Value: id}, {Key: kind, Value: true}, {Key: "mark", Value: int64(mark)}}
}

// place is the _id of a helping document, and the shard where it is; "" if that is not known.
type place struct {
	id    bson.ObjectID
	shard string
}

// places returns some places on each shard that has the collection of the helping documents.
func places(placed *shards.Map, each int) (list []place) {
	if placed == nil || placed.Problem() != "" {
		for range each {
			list = append(list, place{id: bson.NewObjectID()})
		}
		return list
	}
	have := map[string]int{}
	for range 1000 * len(placed.Shards) { // far more than random ids need to hit each shard
		at := place{id: bson.NewObjectID()}
		filter, _ := bson.Marshal(bson.D{{Key: "_id", Value: at.id}}) // cannot fail
		if n := placed.Of(seedCollection, filter); n >= 0 {
			at.shard = placed.Shards[n]
		}
		if have[at.shard] < each {
			have[at.shard]++
			list = append(list, at)
		}
	}
	return list
}

// found counts the seed documents that are present, through the client of the final read. An error means that the
// number is not known.
func (s *seeds) found(ctx context.Context, final *source) (n int, err error) {
	reading := wait.Wait{Name: final.what + ", seed documents", Limit: min(reachAtMost, final.patience)}
	err = reading.Do(ctx, func(ctx context.Context) error {
		wait.Ask(ctx, final.client.Doing)
		for _, id := range s.ids {
			switch err := final.db.Collection(seedCollection).FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Err(); {
			case err == nil:
				n++
			case !errors.Is(err, mongo.ErrNoDocuments):
				return err
			}
			wait.Answered(ctx)
		}
		return nil
	})
	return n, err
}

func (s *seeds) close() { s.client.Close() }
