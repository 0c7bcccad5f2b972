// Package null has targets that do no work, so that a measurement shows the client alone.
//
// [Open] makes a store in this process. It answers every request at once from canned documents, without a network.
// [Listen] and [Serve] make a responder on TCP with canned replies. It speaks the part of the MongoDB wire protocol
// that load generators use: OP_MSG, and OP_QUERY for the greeting of old drivers. Neither stores or finds documents.
//
// Tests use the responder as an instrument: it replies after programmed service times, exact to tens of microseconds,
// stalls, refuses and drops connections at given times, fails chosen requests with given codes and labels, acts as a
// primary or secondary of a replica set, and shows every message that it received.
package null
