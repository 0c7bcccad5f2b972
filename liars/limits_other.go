//go:build !linux

package main

// limitFamily has no rows: the control groups and virtual disks of its plants exist on Linux only.
func limitFamily() family { return family{name: "limit", verdict: limitVerdict} }
