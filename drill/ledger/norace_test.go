//go:build !race

package ledger

// fewer is by how much fewer histories are made.
const fewer = 1
