// Command bench measures Plimsoll itself on one machine: the processor time of an operation compared with other
// clients, also on servers that answer late, and the cost of agents, of the ledger and of virtual disks.
// README.md explains the output.
//
// It prints and never fails a build. Code that measures a database belongs to the other packages.
package main
