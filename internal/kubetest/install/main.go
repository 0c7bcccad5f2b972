// Command install prepares package kubetest, in the directory of the module.
package main

import (
	"fmt"
	"os"

	"github.com/plimsoll-bench/plimsoll/internal/kubetest"
)

func main() {
	if err := kubetest.Install(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
