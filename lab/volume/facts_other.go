//go:build !linux

package volume

import (
	"os"
	"runtime"
)

func kernelFacts() Facts { return Facts{OS: runtime.GOOS, Root: os.Geteuid() == 0} }
