package reads

import "testing"

// BenchmarkNote is what the history costs each operation of the load: beside it, a read of a server takes tens of
// microseconds of processor time.
func BenchmarkNote(b *testing.B) {
	s := New(1, 0).Session(0)
	e := Event{Read: true, Server: "127.0.0.1:27017", Writer: 3, Register: 70, Seen: 0xff}
	b.ReportAllocs()
	for i := range b.N {
		e.Sent, e.Ended = int64(i)*50_000, int64(i)*50_000+30_000
		s.Note(&e)
	}
}
