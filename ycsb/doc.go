// Package ycsb is `plimsoll ycsb`: YCSB's command line and properties, its pace and its way to load, and the lines that
// it prints, quirks included. Package ycsbtext below it writes the lines.
//
// It loads through the same workload, load and store as every other run; what it adds is how YCSB asks and how it
// answers. It prints to the writers of a [Process] alone. What does not live here: the command and its help, exit
// codes, signals and the environment (cmd/plimsoll), and runs as plimsoll itself makes them (run).
package ycsb
