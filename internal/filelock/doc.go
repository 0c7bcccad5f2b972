// Package filelock locks files and directories between processes of this machine. The kernel releases a lock when its
// process ends, however it ends. Locks of records and disks, which name their holder, are in their packages.
package filelock
