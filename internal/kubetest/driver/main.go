// Command driver is the node's part of a CSI driver whose volumes must be attached. It is a module of its own, so that
// plimsoll does not depend on it.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: driver NODE KUBELET-DIRECTORY STORAGE")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
