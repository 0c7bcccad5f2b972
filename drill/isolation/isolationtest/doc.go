// Package isolationtest writes histories of transactions with known truth: a simulated store with snapshots, in which
// the first committer wins, and faults that are planted into its histories. It shares nothing with the checker but the
// types of a history.
package isolationtest
