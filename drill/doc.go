// Package drill injects faults into a deployment under load, and measures the outage and the lost writes.
//
// A drill is one run or several, each with faults and a ledger of acknowledged writes. [Run] conducts it: it brings up
// the lab of the specification, runs the load, injects and heals the faults, waits until redundancy is back, reads
// everything and judges. Outages are computed from the times at which operations ended ([watcher]). The verdict is a
// function of the evidence ([judge]), so tests hold it against known truths.
//
// Faults, the ledger and runs are packages of their own. Nothing here prints.
package drill
