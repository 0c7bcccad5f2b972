//go:build !linux

package observe

import (
	"errors"
	"time"
)

// NewHost fails: other systems report the use of a machine through further libraries only.
func NewHost() (Source, error) {
	return nil, errors.New("the use of this machine is measured on Linux only")
}

// NewClient fails like NewHost.
func NewClient(func() []int) (Source, error) {
	return nil, errors.New("memory and I/O of this process are measured on Linux only")
}

// NewService fails like NewHost.
func NewService(int) (Source, error) {
	return nil, errors.New("the use of the REST service is measured on Linux only")
}

// ProcessUse has no values.
func ProcessUse(int) (cpu time.Duration, resident int64, ok bool) { return 0, 0, false }
