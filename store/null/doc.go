// Package null holds targets that do no work, so that what is measured against them is the client.
//
// It has two of them. [Open] gives a store in this process: every request is answered at once from
// canned documents, without any network. [Listen] and [Serve] give a responder on TCP that speaks as
// much of the MongoDB wire protocol (OP_MSG, and OP_QUERY for the greeting of old drivers) as load
// generators use, with canned replies. Neither keeps what is written to it.
//
// The responder is also an instrument for tests: it answers after a programmed service time that is
// kept to tens of microseconds, stalls, refuses and drops connections at given times, fails chosen
// requests with given codes and labels, plays the primary or a secondary of a replica set, and shows
// every message it got. It is no database: nothing here judges, stores or finds documents.
package null
