package e2e

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// roundsVar is how many rounds of each fault and write concern [TestMongoProof] makes. Without it, there is one of each
// fault on a real mongod, and some on the stand-in.
const roundsVar = "PLIMSOLL_TEST_PROOF"

// proofBound is how far the outage that a drill states may be from that of an independent client beside it. What that
// client's own lateness explains is added: on a busy machine it, too, sees an outage begin and end late.
const proofBound = 100 * time.Millisecond

// proofFaults are the faults of the platform file, and how long the load lasts.
var proofFaults = []struct {
	name, length string
	short        bool // on the stand-in too where little time is given
}{
	{"kill:primary", "13s", true}, {"pause:primary", "13s", true}, {"step-down", "8s", true}, {"stop:primary", "32s", false},
	{"rolling-restart", "15s", false}, // the load goes on until it has ended
}

// proof is one round: what a drill states, and what the clients beside it saw.
type proof struct {
	fault, concern string
	round          int
	seen           [2]*seen    // by the writer with the concern of the drill, and by the reader
	stated         [2]int64    // outage of writes and reads, in nanoseconds
	unknown        string      // why the verdict is: the server refused, or a busy machine made few writes
	lost           int64       // as the drill states
	missing        []time.Time // when the lost writes of the client were acknowledged
	last           time.Time   // the last write that the drill had acknowledged before the outage
	present        int         // documents of the drill's inserts that another client counts
	counted        int64       // as the drill states
}

// A drill of a deployment that a person made by hand, with authentication, states the outage and the loss that clients
// see who know nothing of it.
func TestMongoProof(t *testing.T) {
	rounds, err := strconv.Atoi(cmp.Or(os.Getenv(roundsVar), "0"))
	if err != nil {
		t.Fatalf("%s: %v", roundsVar, err)
	}
	for name, binary := range mongods(t) {
		t.Run(name, func(t *testing.T) {
			if rounds > 0 && name == "stand-in" {
				return // what is to be proven is the real one
			}
			p := newProving(t, binary)
			for at, f := range proofFaults {
				if rounds == 0 && name == "stand-in" && !f.short {
					notrun.Here(t, "%s on the stand-in: all faults take too long. Set %s=1", f.name, roundsVar)
					continue
				}
				t.Run(f.name, func(t *testing.T) {
					var table []proof
					for n := range max(1, rounds) {
						for i, concern := range []string{"1", "majority"} {
							if rounds == 0 && i != at%2 {
								continue // the concerns take turns
							}
							got := p.round(t, f.name, f.length, concern, n+1)
							// Beside other tests, the drill, too, may notice an end late: once is no proof of a wrong statement.
							for again := 1; again < 5 && (got.unknown != "" || rounds == 0 && got.apart() != ""); again++ {
								t.Logf("%s: %s%s; again", got.name(), got.unknown, got.apart())
								got.checkWrites(t)
								got = p.round(t, f.name, f.length, concern, n+1+again)
							}
							if got.unknown != "" {
								t.Errorf("%s: the verdict is unknown: %s", got.name(), got.unknown)
							}
							got.check(t)
							t.Log(strings.TrimSpace(proofTable([]proof{got}))) // what an interrupted proof has
							table = append(table, got)
						}
					}
					t.Log("\n" + proofHead + proofTable(table))
				})
			}
			if rounds == 0 {
				notrun.Here(t, "5 rounds of each fault and write concern on a real mongod: make proof")
			}
		})
	}
}

// proving is the deployment that is broken.
type proving struct {
	*enginetest.Set
	file, home string
	made       int // rounds
}

func newProving(t *testing.T, binary string) *proving {
	t.Helper()
	p := &proving{Set: enginetest.StartSecureSet(t, binary, 3), file: filepath.Join(t.TempDir(), "platform.yaml"), home: t.TempDir()}
	text := "members:\n"
	for i, name := range p.Names {
		text += fmt.Sprintf("  - {name: %s, address: '%s'}\n", name, p.Addresses[i])
	}
	text += fmt.Sprintf(`actions:
  kill: {inject: [%[1]s, kill, "{member}"], heal: [%[1]s, start, "{member}"], witness: [%[1]s, is-dead, "{member}"], failure_mode: crash}
  pause: {inject: [%[1]s, pause, "{member}"], heal: [%[1]s, resume, "{member}"], witness: [%[1]s, is-paused, "{member}"], failure_mode: black-hole}
  stop: {inject: [%[1]s, stop, "{member}"], heal: [%[1]s, start, "{member}"], failure_mode: planned, timeout: 2m}
`, p.Script)
	if err := os.WriteFile(p.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// round makes one drill with clients beside it.
func (p *proving) round(t *testing.T, fault, length, concern string, n int) proof {
	t.Helper()
	p.settle(t)
	beside := func(concern string) *bystander { return newBystander(t, p.URI, p.Addresses, concern) }
	clients, reader := map[string]*bystander{"1": beside("1"), "majority": beside("majority")}, beside("")
	for _, b := range []*bystander{clients["1"], clients["majority"], reader} {
		defer b.close()
		defer b.stop()
	}
	p.made++
	database := fmt.Sprintf("proof_%d", p.made)
	own := func(c *exec.Cmd) { c.Env = append(c.Env, "PLIMSOLL_HOME="+p.home, "PROOF_URI="+p.URI) }
	args := []string{"drill", "env:PROOF_URI", "--platform", p.file, "--fault", fault, "--at", "3s", "--duration", length, "--w", concern,
		"--database", database, "--rate", "200", "--threads", "16", "--yes-break-it", "--quiet", "--out", out}
	if strings.Contains(fault, ":") {
		args = append(args, "--for", "5s")
	}
	d := startChanged(t, own, args...)
	ended := d.wait(t)
	for _, c := range clients {
		c.stop()
	}
	reader.stop()
	r, err := record.OpenDrill(filepath.Join(d.dir, out))
	if err != nil || len(r.Rounds) == 0 || len(r.Rounds[0].Faults) == 0 || r.Rounds[0].Faults[0].Injected == 0 ||
		r.Rounds[0].Ledger == nil {
		t.Fatalf("%s at w:%s injected nothing: %v\n%s%s", fault, concern, err, ended.stdout, ended.stderr)
	}
	load, err := record.Open(filepath.Join(d.dir, out, filepath.FromSlash(r.Rounds[0].Record)))
	if err != nil {
		t.Fatal(err)
	}
	round := &r.Rounds[0]
	injected := load.Common().Started.Add(time.Duration(round.Faults[0].Injected))
	end := load.Common().Started.Add(time.Duration(round.WindowEnd))
	got := proof{fault: fault, concern: concern, round: n,
		missing: clients[concern].missing(t), present: reader.count(t, database), lost: lostOf(round.Ledger)}
	for i, kind := range []string{record.KindWrites, record.KindReads} {
		got.stated[i] = -1
		if at := slices.IndexFunc(round.Effects, func(e record.DrillEffect) bool {
			return e.Kind == kind && e.Client < 0 && e.Shard == ""
		}); at >= 0 {
			got.stated[i] = round.Effects[at].Outage
			if kind == record.KindWrites {
				got.last = load.Common().Started.Add(time.Duration(round.Effects[at].OutageFrom))
			}
		}
		got.seen[i] = []*bystander{clients[concern], reader}[i].longest(injected, end)
	}
	for _, class := range []string{record.WriteOK, record.WriteRecovered, record.WriteStale, record.WritePhantom} {
		got.counted += round.Ledger.Inserts[class]
	}
	// A primary refuses to step down when no secondary caught up in its time. The drill says so, and nothing was proven.
	if r.Verdict == record.Unknown {
		got.unknown = strings.Join(r.Reasons, "; ")
	} else if concern == "majority" && r.Verdict != record.Holds {
		t.Errorf("%s at w:%s, round %d: %s, %q", fault, concern, n, r.Verdict, r.Reasons)
	}
	return got
}

// settle waits until all members are in the set again, as the independent clients see it.
func (p *proving) settle(t *testing.T) {
	t.Helper()
	for _, name := range p.Names {
		p.Do(t, "start", name) // it may have been left dead by a drill that failed
	}
	b := newBystander(t, p.URI, p.Addresses, "")
	defer b.close()
	defer b.stop()
	until(t, "all members", b.whole)
	for _, m := range b.members {
		// A member that stepped down less than a minute ago may be elected again. The primary refuses this.
		_ = m.Database("admin").RunCommand(t.Context(), bson.D{{Key: "replSetFreeze", Value: 0}}).Err()
	}
}

func lostOf(l *record.LedgerResult) int64 {
	return l.Inserts[record.WriteLost] + l.Updates[record.WriteLost]
}

// name is the round in words.
func (p proof) name() string { return fmt.Sprintf("%s at w:%s, round %d", p.fault, p.concern, p.round) }

// check compares what the drill states with what the clients saw.
func (p proof) check(t *testing.T) {
	t.Helper()
	if text := p.apart(); text != "" {
		t.Error(text)
	}
	p.checkWrites(t)
}

// apart says which outages differ from those that the clients saw by more than the bound; "" if none does.
func (p proof) apart() string {
	var list []string
	for i, own := range p.seen {
		stated, kind := time.Duration(p.stated[i]), []string{"writes", "reads"}[i]
		if off := (stated - own.gap).Abs(); p.stated[i] < 0 || off > proofBound+own.late {
			list = append(list, fmt.Sprintf("%s: the outage of %s is stated as %v, and a client saw %v from %v (its own lateness %v)",
				p.name(), kind, stated, own.gap, own.from.Format("15:04:05.000"), own.late))
		}
	}
	return strings.Join(list, "; ")
}

// checkWrites compares the writes that are present and lost.
func (p proof) checkWrites(t *testing.T) {
	t.Helper()
	if int64(p.present) != p.counted {
		t.Errorf("%s: the drill states that %d inserted documents are present, and another client counts %d", p.name(), p.counted,
			p.present)
	}
	// The client makes a tenth of the drill's writes: if it lost one, the drill lost those that came later.
	if p.lost == 0 && len(p.missing) > 0 && p.missing[0].Before(p.last) ||
		p.concern == "majority" && (p.lost > 0 || len(p.missing) > 0) {
		t.Errorf("%s: the drill lost %d writes, the last one of it before the outage was acknowledged at %v, and the client lost those of %v",
			p.name(), p.lost, p.last, p.missing)
	}
}

// proofHead begins the table that docs/platform.md has.
const proofHead = "| fault | `--w` | rounds | writes out: stated | seen | apart | reads out: stated | seen | apart | lost: stated | seen |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|\n"

// proofTable has a row for each fault and write concern: the shortest and the longest outage in milliseconds, how far
// the two figures of a round are apart at most, and the sum of the lost writes.
func proofTable(list []proof) (text string) {
	ms := func(d time.Duration) string { return fmt.Sprintf("%d", d.Milliseconds()) }
	for list = slices.Clone(list); len(list) > 0; {
		first := list[0]
		same := func(p proof) bool { return p.fault == first.fault && p.concern == first.concern }
		var of []proof
		for _, p := range list {
			if same(p) {
				of = append(of, p)
			}
		}
		text += fmt.Sprintf("| `%s` | `%s` | %d |", of[0].fault, of[0].concern, len(of))
		for i := range 2 {
			var stated, own []time.Duration
			apart := time.Duration(0)
			for _, p := range of {
				s, o := time.Duration(p.stated[i]), p.seen[i].gap
				stated, own, apart = append(stated, s), append(own, o), max(apart, (s-o).Abs())
			}
			slices.Sort(stated)
			slices.Sort(own)
			text += fmt.Sprintf(" %s–%s | %s–%s | %s |", ms(stated[0]), ms(stated[len(of)-1]), ms(own[0]), ms(own[len(of)-1]), ms(apart))
		}
		var lost, missing int64
		for _, p := range of {
			lost, missing = lost+p.lost, missing+int64(len(p.missing))
		}
		text += fmt.Sprintf(" %d | %d |\n", lost, missing)
		list = slices.DeleteFunc(list, same)
	}
	return text
}
