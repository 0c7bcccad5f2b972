// Package repotest holds the rules of the repository as tests: who may import whom, what only the
// command line may do, how long functions and files may be, what texts may not say. Each failure
// prints the reason for its rule. There is no code here for other packages to use.
package repotest
