//go:build !linux

package datadir

import (
	"errors"
	"os"
)

// exchange is known on Linux alone.
func exchange(*os.Root, string, string) error { return errors.ErrUnsupported }

// openForWriting is known on Linux alone.
func openForWriting(*os.Root, string) (bool, error) { return false, errors.ErrUnsupported }
