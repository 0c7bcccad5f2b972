//go:build !linux

package observe

import (
	"errors"
	"time"
)

// NewHost fails: only Linux tells what is needed without further libraries.
func NewHost() (Source, error) {
	return nil, errors.New("what this machine does beside the load can be seen on Linux only")
}

// NewClient fails like NewHost.
func NewClient(func() []int) (Source, error) {
	return nil, errors.New("what this process uses beside its processor time can be seen on Linux only")
}

// NewService fails like NewHost.
func NewService(int) (Source, error) {
	return nil, errors.New("what the REST service uses can be seen on Linux only")
}

// ProcessUse knows nothing here.
func ProcessUse(int) (cpu time.Duration, resident int64, ok bool) { return 0, 0, false }
