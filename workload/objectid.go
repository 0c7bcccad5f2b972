package workload

import "encoding/binary"

// objectID is a MongoDB ObjectId: 4 bytes that drivers fill with the time, then 8 bytes.
type objectID = [12]byte

// idSource gives out increasing ObjectIds. Those of the load phase have 0 in the place of the time and
// the record number in the rest. Those of a run have the number of the run in 6 bytes, a count in 36 bits
// and the number of the client in 12, so that inserts go to the right edge of the index as an
// application's do, and no two runs or clients ever make the same one.
type idSource struct {
	run    uint64
	client uint16
}

// loaded returns the ObjectId of record seq of the load phase.
func (s idSource) loaded(seq int64) (id objectID) {
	binary.BigEndian.PutUint64(id[4:], uint64(seq))
	return id
}

// inserted returns the ObjectId of the nth insert of this run, 0 ≤ n < 2^36.
func (s idSource) inserted(n int64) (id objectID) {
	run := s.run + 1<<16 // above the ids of the load phase
	binary.BigEndian.PutUint64(id[4:], run<<48|uint64(n)<<12|uint64(s.client))
	binary.BigEndian.PutUint32(id[:4], uint32(run>>16))
	return id
}

// recordNumber turns an ObjectId into the number from which the record's contents are made.
func recordNumber(id objectID) uint64 {
	hi, lo := binary.BigEndian.Uint32(id[:4]), binary.BigEndian.Uint64(id[4:])
	return lo ^ mix64(uint64(hi))
}
