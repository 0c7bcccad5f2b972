// Package e2e tests whole commands against real servers: the plimsoll program as it is built and shipped,
// and engines that `plimsoll engine run` starts. What became of the data is checked with the official
// driver, past all code of this repository.
//
// The tests run on documentdb where it is installed and on mongod where there is one; see
// lab/engine/enginetest for how a missing engine is told or, with PLIMSOLL_REQUIRE_ENGINE=1, refused.
// There is one server of each for all tests, and a database of its own for each test; tests that kill a
// server start their own.
//
// Under the race detector nothing here is built: these tests run a program that is built without it, so
// a second pass would prove nothing new. Each room's own tests run under it.
package e2e
