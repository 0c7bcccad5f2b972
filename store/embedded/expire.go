package embedded

import (
	"encoding/binary"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// expireInterval is the time between two removals of expired documents, as in MongoDB (ttlMonitorSleepSecs).
const expireInterval = time.Minute

// expireAll removes expired documents at intervals.
func (st *embeddedStore) expireAll() {
	tick := time.NewTicker(expireInterval)
	defer tick.Stop()
	for {
		select {
		case <-st.stop:
			return
		case now := <-tick.C:
			st.expire(now)
		}
	}
}

// expire removes the documents that have expired at a time: those with a date in the field of an index, or in an array
// there, that is older than the index allows. What it cannot remove, it leaves to the next time.
func (st *embeddedStore) expire(now time.Time) {
	for _, c := range *st.catalog.Load() {
		for _, ix := range c.indexes {
			if ix.expire != nil && st.failure() == nil {
				_ = st.expireIn(c, ix, now) // a failure of the storage is in the store
			}
		}
	}
}

// expireAtOnce is how many documents are read before they are removed.
const expireAtOnce = 1000

func (st *embeddedStore) expireIn(c *collection, ix *index, now time.Time) (err error) {
	defer st.recoverTo(&err)
	older, start := rawbson.Open(nil)
	older = appendElem(older, []byte("$lte"), value{t: rawbson.Date,
		data: binary.LittleEndian.AppendUint64(nil, uint64(now.UnixMilli()-*ix.expire*1000))})
	older = rawbson.Close(older, start)
	filter, start := rawbson.Open(nil)
	filter = rawbson.Close(appendElem(filter, ix.fields[0], value{t: rawbson.Document, data: older}), start)
	s := &session{st: st, later: true}
	if err := s.filter.compile(filter); err != nil {
		return err
	}
	if ix.partial != nil {
		s.filter.preds = append(s.filter.preds, ix.partial.preds...)
	}
	for {
		docs, err := s.selected(c, time.Time{}, nil, expireAtOnce)
		if err != nil {
			return err
		}
		for _, doc := range docs {
			id, _ := lookup(doc, idField)
			var res store.Result
			b, err := s.changeOne(c.name, id, &workload.Statement{}, true, &res)
			if err := s.awaited(b, err); err != nil {
				return err
			}
		}
		select {
		case <-st.stop:
			return nil
		default:
		}
		if len(docs) < expireAtOnce {
			return nil
		}
	}
}
