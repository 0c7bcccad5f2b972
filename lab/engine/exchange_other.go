//go:build !linux

package engine

import "errors"

func exchange(_, b string) error {
	return errors.New(b + " cannot be replaced on this system: remove it and install it again")
}
