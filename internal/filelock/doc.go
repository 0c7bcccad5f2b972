// Package filelock waits for a lock between processes of this machine. Locks of records, labs and disks, which are
// refused at once and name their holder, are in their packages.
package filelock
