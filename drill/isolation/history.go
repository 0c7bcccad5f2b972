package isolation

// ID names a version that a transaction wrote. No other write, and no other attempt of the same transaction, has it. 0
// is the version of a key before the load.
type ID uint64

// Outcome is what a client knows about the end of a transaction.
type Outcome uint8

const (
	// Unknown is a transaction whose commit has no definite answer.
	Unknown Outcome = iota
	// Committed is a transaction whose commit was acknowledged.
	Committed
	// Aborted is a transaction that certainly had no effect.
	Aborted
)

// Unplaced is the number of a version whose place among those of its key is not known.
const Unplaced = -1

// Op is one operation of a transaction.
type Op struct {
	Key   uint32
	Write bool
	// Blind says that a write did not return the document as it was before.
	Blind bool
	// ID is the version that was read or written, and N its number: 0 before the load, [Unplaced] for blind writes.
	ID ID
	N  int64
	// Prev is the version before, as the read or the write returned it. 0 is not known, unless N is 1: the version
	// before the load.
	Prev ID
}

// Transaction is one attempt of a transaction, or one operation outside of transactions. Times are nanoseconds of one
// clock; where several clocks were compared, Began is at the earliest and Ended at the latest. Ended is 0 if no answer
// came.
type Transaction struct {
	Session int32
	Outcome Outcome
	// Past says that its snapshot may be older than what was acknowledged before it began. So neither its session nor real
	// time says what it must see.
	Past         bool
	Server       uint16 // in [History.Servers]
	Began, Ended int64
	// CommitTime is the time that the server gave to the commit of a writing transaction, and ReadTime the one of its
	// snapshot; 0 if not known, or if the server does not promise that it is exact.
	CommitTime, ReadTime uint64
	Ops                  []Op
}

// History is what transactions on a set of keys did. No other transaction used the keys.
type History struct {
	Transactions []Transaction
	// Final are the versions of keys after all transactions, read with the concern that the promise is about. A key
	// that is not there was not read.
	Final   []Op
	Servers []string
}

// Class is a kind of anomaly.
type Class uint8

// The classes of anomalies, the worst first.
const (
	Torn            Class = iota // some writes of one transaction are there, others are not
	Lost                         // a transaction was acknowledged, and all of its writes are gone
	Garbage                      // a value that no transaction wrote
	Future                       // a value was read before it was sent
	Duplicate                    // one write has two places
	Conflict                     // two writes have the same place
	Internal                     // a transaction does not see its own write
	DirtyRead                    // G1a: a committed transaction read a value that was aborted or rolled back
	Intermediate                 // G1b: it read a value that its transaction replaced
	DirtyWrite                   // G0: a cycle of ww
	Circular                     // G1c: a cycle of ww and wr
	LostUpdate                   // two transactions replaced the same version
	NonRepeatable                // one transaction read two versions of a key
	ReadSkew                     // G-single: a cycle with one rw
	LongFork                     // G-nonadjacent: a cycle with several rw, no two in a row
	ServerOrder                  // the times of the server contradict the data
	Stale                        // a causal session went back: a read lacks a version of its past
	CircularSession              // the same cycles, if the order of sessions counts
	ReadSkewSession
	LongForkSession
	CircularRealTime // the same cycles, if real time counts
	ReadSkewRealTime
	LongForkRealTime
	WriteSkew // G2-item: a cycle with two rw in a row
	classes
)

// names are the words for classes, in their order.
var names = [classes]string{"torn transaction", "lost transaction", "garbage read", "future read", "duplicate write",
	"conflicting order", "own write not seen", "aborted read (G1a)", "intermediate read (G1b)", "dirty write (G0)",
	"circular information flow (G1c)", "lost update", "non-repeatable read", "read skew (G-single)",
	"long fork (G-nonadjacent)", "contradiction to the server's times", "stale causal read",
	"circular information flow in sessions", "read skew in a session", "long fork in sessions",
	"circular information flow in real time", "read skew in real time", "long fork in real time",
	"write skew (G2-item)"}

func (c Class) String() string { return names[c] }

// Promise is the isolation that settings promise.
type Promise uint8

// The promises. Each later one forbids what an earlier one forbids, but for snapshot isolation, which does not forbid
// what only the causal order of sessions shows.
const (
	Nothing Promise = iota
	ReadCommitted
	Causal
	Snapshot
	SessionSnapshot
	StrongSnapshot
	Serializable // promised by no setting; for comparisons
)

var promises = [...]string{"nothing", "read committed", "causal consistency", "snapshot isolation",
	"session snapshot isolation", "strong snapshot isolation", "serializability"}

func (p Promise) String() string { return promises[p] }

// Forbids reports whether a promise excludes a class of anomalies.
func (p Promise) Forbids(c Class) bool {
	switch c {
	case Garbage, Future, Duplicate:
		return true // no setting may return what nobody wrote
	case Torn, Lost, Internal, DirtyRead, Intermediate, DirtyWrite, Circular, Conflict, ServerOrder:
		return p != Nothing
	case LostUpdate, NonRepeatable, ReadSkew, LongFork:
		return p >= Snapshot
	case Stale:
		return p == Causal
	case CircularSession:
		return p == Causal || p == SessionSnapshot || p == StrongSnapshot
	case ReadSkewSession, LongForkSession:
		return p == SessionSnapshot || p == StrongSnapshot
	case CircularRealTime, ReadSkewRealTime, LongForkRealTime:
		return p == StrongSnapshot
	case WriteSkew:
		return p == Serializable
	}
	return false
}
