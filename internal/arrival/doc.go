// Package arrival reads from TCP connections and says when the kernel received the data.
//
// A reply waits in the socket until its reader runs. A busy client, or one without processor time, counts this wait as
// time of the server, and cannot notice it by its own clocks. On Linux the kernel stamps each packet when it arrives
// (SO_TIMESTAMPNS, socket(7)); a packet of loopback has the time at which the sender's write delivered it. Elsewhere,
// and where the kernel does not stamp, the time is unknown.
//
// The stamp is of the wall clock. It is compared with the wall clock at the reading and the difference is used, so only
// a clock that is set in between makes it wrong; callers discard a time before the request.
package arrival

import (
	"encoding/binary"
	"net"
	"sync/atomic"
	"time"
)

// Wrap returns nc as a connection whose reads know the arrival of their data, or nc if that is unknown.
func Wrap(nc net.Conn) net.Conn {
	if tcp, ok := nc.(*net.TCPConn); ok {
		if c := wrap(tcp); c != nil {
			return c
		}
	}
	return nc
}

// recent has the delays of the latest requests that were read through a [Conn]. A slot has the lower half of the number
// of a request and its delay in units of delayUnit, at most the largest number. A request whose slot was overwritten is
// unknown.
var recent [4096]atomic.Uint64

const delayUnit = 64 * time.Nanosecond

// Delay returns the time from the arrival of the latest data of the reply to an OP_MSG until its reading. A client that
// does not read its connections itself, such as the official driver, knows the number of its request only. It is
// unknown for encrypted connections, whose messages are not visible here.
func Delay(request int64) (time.Duration, bool) {
	slot := recent[uint32(request)%uint32(len(recent))].Load()
	if uint32(slot>>32) != uint32(request) || request == 0 {
		return 0, false
	}
	return time.Duration(uint32(slot)) * delayUnit, true
}

func remember(request uint32, delay time.Duration) {
	units := uint64(min(max(delay, 0)/delayUnit, 1<<32-1))
	recent[request%uint32(len(recent))].Store(uint64(request)<<32 | units)
}

// headerLen is the length of the header of a message, which has its number in the second four bytes.
const headerLen = 16

// requestOf returns the number of the message that b begins with, 0 if there is none.
func requestOf(b []byte) uint32 {
	if len(b) < headerLen {
		return 0
	}
	return binary.LittleEndian.Uint32(b[4:])
}
