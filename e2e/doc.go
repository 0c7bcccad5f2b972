// Package e2e tests commands against real servers: the plimsoll program as it is built and shipped, and engines that
// `plimsoll engine run` starts. The official driver checks the data, without code of this repository.
//
// The tests run on documentdb and mongod, if these are installed; lab/engine/enginetest reports missing engines, or
// fails with PLIMSOLL_REQUIRE_ENGINE=1. All tests share one server of each engine, each with its own database; tests
// that kill a server start their own.
//
// The package is not built with the race detector, because the tested program is built without it. The tests of each
// package run with it.
package e2e
