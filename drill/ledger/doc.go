// Package ledger keeps what every writer was told about its writes, and finds out afterwards what became of them.
package ledger
