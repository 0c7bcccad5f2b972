package ledger

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/drill/ledger/ledgertest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// shared is a source in whose collection another program writes, so each read returns other documents of it.
type shared struct {
	*ledgertest.Reader
	others func(scan int) []bson.D
	scans  int
}

func (s *shared) Scan(ctx context.Context, collection string, each func(doc []byte) error) error {
	s.scans++
	for _, d := range s.others(s.scans) {
		raw, err := bson.Marshal(d)
		if err == nil {
			err = each(raw)
		}
		if err != nil {
			return err
		}
	}
	return s.Reader.Scan(ctx, collection, each)
}

// Another program that writes into the collection of the ledger during the audit makes no member diverge: its
// documents, those of another run among them, are stated and not judged. A difference in a document of this run is
// found beside them.
func TestOtherWritersDuringTheAudit(t *testing.T) {
	l, own, w := script(t, 100, func(int) bool { return false })
	other, _ := appendTagged(nil, own.(*ownWorkload).appendOwn(nil, 4, 0, 7), 4, 0, 7)
	honest := func(scan int) []bson.D {
		list := []bson.D{{{Key: "_id", Value: "app"}, {Key: "n", Value: scan}}, ledgertest.Unmarshal(other)}
		for n := range scan {
			list = append(list, bson.D{{Key: "_id", Value: fmt.Sprintf("app%d", n)}})
		}
		return list
	}
	scans := 0
	others := func(int) []bson.D { scans++; return honest(scans) }
	member := &ledgertest.Reader{Source: "b", W: w}
	got := audited(t, l, AuditOptions{Workload: own,
		Final:   &shared{Reader: &ledgertest.Reader{Source: FinalRead, W: w}, others: others},
		Members: []Source{&shared{Reader: member, others: others}, late{member, "1 s behind"}}})
	diff := cmp.Diff(map[string]int64{record.WriteOK: 100}, got.Inserts)
	if diff != "" || got.Reads[1].State != record.MemberAgrees {
		t.Errorf("another program's writes are judged: %s%s %v", diff, got.Reads[1].State, got.Examples)
	}
	if text := strings.Join(got.Notes, "\n"); !strings.Contains(text, "b and the primary returned "+
		"different documents without writes of this run (4 and 3 documents)") {
		t.Errorf("the notes lack the other program: %q", got.Notes)
	}

	_, _, damaged := script(t, 100, func(int) bool { return false })
	id := bson.ObjectID(ownID(5, 0, inserts, 42))
	key := ledgertest.KeyOf(id)
	damaged.Docs[key] = append(bson.D{{Key: "_id", Value: id}, {Key: "extra", Value: 1}}, damaged.Docs[key][1:]...)
	got = audited(t, l, AuditOptions{Workload: own,
		Final:   &shared{Reader: &ledgertest.Reader{Source: FinalRead, W: w}, others: others},
		Members: []Source{&shared{Reader: &ledgertest.Reader{Source: "b", W: damaged}, others: others}}})
	if got.Inserts[record.WriteDiverged] == 0 || got.Reads[1].State != record.MemberDiverged {
		t.Errorf("a damaged document of this run beside those of another program is %v, and the member %s", got.Inserts, got.Reads[1].State)
	}
}
