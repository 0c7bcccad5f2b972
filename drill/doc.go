// Package drill breaks a deployment while it is loaded, and says how long it was out and what it lost.
//
// A drill is one run or several, each with faults in it and a ledger of acknowledged writes. [Run] conducts it: it
// brings the lab up where the specification has one, makes the load, breaks and heals, waits until redundancy is back,
// reads everything and judges. What is measured comes from the times of the operations themselves ([watcher]); the
// verdict is a function of what was found ([judge]), so that it can be held against known truths.
//
// Faults, the ledger and runs are rooms of their own; nothing here prints.
package drill
