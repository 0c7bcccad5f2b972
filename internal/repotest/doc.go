// Package repotest has the rules of the repository as tests: imports, calls that only the command line may make, the
// length of functions and files, and the words of texts. Each failure prints the reason for its rule.
package repotest
