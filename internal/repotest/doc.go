// Package repotest has the rules of the repository as tests: import rules, what only the command line may do, lengths
// of functions, files and lines, and texts. Each failure prints the reason for its rule. The package has no code for
// other packages.
package repotest
