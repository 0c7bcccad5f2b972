// Package ycsb is `plimsoll ycsb`: YCSB's command line and properties, its pace and its load phase, and the lines that
// it prints, quirks included. Package ycsbtext writes the lines.
//
// It uses the same workload, load and store packages as every other run. It prints to the writers of a [Process] only.
// The command and its help, exit codes, signals and the environment belong to cmd/plimsoll, other runs to package run.
package ycsb
