// Command bench measures Plimsoll itself, from one run on one machine: what an operation costs the
// client in processor time against its peers, how it starts, what memory it takes, how exactly it keeps
// a schedule and how true its percentiles are. README.md says how to read the result.
//
// It prints; nothing here is a test, and nothing depends on it. What belongs to measuring a database is
// in the other rooms.
package main
