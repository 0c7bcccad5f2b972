// Command bench measures Plimsoll itself on one machine: the processor time of an operation compared with other
// clients, start-up, memory, the accuracy of the schedule and of the percentiles, and the cost of its other commands.
// README.md explains the output.
//
// It prints and never fails a build. Code that measures a database belongs to the other packages.
package main
