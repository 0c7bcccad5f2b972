package workload

// What follows is for package own, whose workloads are made of the same parts.

// Random is a small, fast, seedable source of random numbers. It is not safe for concurrent use.
type Random struct{ r random }

// SeedStream makes r the source of the operations of one worker.
func (r *Random) SeedStream(seed uint64, worker int) { r.r.seed(seed, forStream, uint64(worker)) }

// SeedRecord makes r the source of the contents of one document.
func (r *Random) SeedRecord(seed uint64, number int64) { r.r.seed(seed, forRecord, uint64(number)) }

// Uint64 returns 64 random bits.
func (r *Random) Uint64() uint64 { return r.r.uint64() }

// Float returns a number in [0, 1).
func (r *Random) Float() float64 { return r.r.float() }

// Below returns a number in [0, n). n must be positive.
func (r *Random) Below(n int64) int64 { return r.r.below(n) }

// AppendBytes appends n bytes of which the last share·n are the same and the others random.
func (r *Random) AppendBytes(dst []byte, n int, share float64) []byte {
	return appendRandomValue(dst, n, share, &r.r)
}

// Prose are everyday words.
func Prose() []string { return prose }

// HashKey is the hash of YCSB's keys.
func HashKey(n int64) int64 { return hashKey(n) }

// Mix64 is a bijection in which every bit changes about half of the bits.
func Mix64(x uint64) uint64 { return mix64(x) }

// Skew draws ranks from 0 to below n, low ones more often: the probability is proportional to (rank+1)^-theta.
type Skew struct{ z zipf }

// NewSkew makes a Skew of n ≥ 1 ranks.
func NewSkew(n int64, theta float64) *Skew { return &Skew{newZipf(n, theta)} }

// Next returns a rank.
func (s *Skew) Next(r *Random) int64 { return s.z.next(&r.r) }

// Mix draws kinds of operations by weight.
type Mix struct{ m mix }

// NewMix takes one weight for each kind. ok is false if none is positive.
func NewMix(weights ...float64) (Mix, bool) {
	m, ok := newMix(weights...)
	return Mix{m}, ok
}

// Next returns a kind.
func (m *Mix) Next(r *Random) int { return m.m.next(&r.r) }

// KeySet are the numbers of the documents of a collection: [0, loaded) of the load phase, and those that this run
// inserts. The streams of a workload share it.
type KeySet struct {
	loaded  int64
	inserts *insertKeys
	recent  *recentKeys
}

// NewKeySet makes the set of a run with a number ([RunNumber], 0 for none) and of one of several clients.
func NewKeySet(loaded int64, run uint64, client, clients int) *KeySet {
	first := loaded
	if run > 0 {
		first = max(first, runFirst(run))
	}
	return &KeySet{loaded: loaded, recent: &recentKeys{},
		inserts: &insertKeys{first: first, client: int64(client), clients: int64(max(clients, 1))}}
}

// Loaded is the number of documents of the load phase.
func (k *KeySet) Loaded() int64 { return k.loaded }

// Insert returns the number of the next document.
func (k *KeySet) Insert() int64 { return k.inserts.next() }

// Inserted says that the database has acknowledged the insert of a document.
func (k *KeySet) Inserted(n int64) { k.recent.add(n) }

// Any returns whether there is a document to choose.
func (k *KeySet) Any() bool { return k.loaded > 0 || k.recent.size() > 0 }

// Keys chooses numbers of documents.
type Keys struct{ of chooser }

// Next returns the number of a document.
func (k Keys) Next(r *Random) int64 { return k.of.next(&r.r) }

// Uniform chooses all loaded documents equally often.
func (k *KeySet) Uniform() Keys { return Keys{uniform{n: max(k.loaded, 1)}} }

// Zipf chooses loaded documents by a zipfian distribution that is scattered over all of them.
func (k *KeySet) Zipf(theta float64, seed uint64) Keys {
	return Keys{newScattered(max(k.loaded, 1), theta, seed)}
}

// Latest chooses documents by age, the newest most often, with those that were inserted and acknowledged.
func (k *KeySet) Latest(theta float64) Keys {
	return Keys{&trueLatest{byAge: byAge{records: k.loaded, recent: k.recent}, zipf: newZipf(max(k.loaded, 1), theta)}}
}

// Hotspot chooses a share of the loaded documents with a share of all choices.
func (k *KeySet) Hotspot(documents, choices float64) Keys {
	return Keys{newHotspot(0, max(k.loaded, 1), documents, choices)}
}

// Sequential visits all loaded documents, each worker its part.
func (k *KeySet) Sequential(worker, workers int) Keys {
	n := max(k.loaded, 1)
	return Keys{&sequence{at: int64(worker) % n, step: int64(workers), n: n}}
}

// AppendObjectID appends the ObjectId of a document by its number, as a value.
func AppendObjectID(dst []byte, n int64) []byte {
	id := idSource{}.loaded(n)
	return append(dst, id[:]...)
}
