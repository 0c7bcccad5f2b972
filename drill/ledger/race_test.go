//go:build race

package ledger

// fewer is by how much fewer histories are made: the race detector takes five times as long for each.
const fewer = 5
