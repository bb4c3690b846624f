package main

import (
	"errors"
	"math"
	"path/filepath"
	"syscall"
	"testing"
)

func TestStoreThatTheDiskHasNoRoomForIsAnError(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("skipped: a disk may have room for all that can be mapped here")
	}
	if s, err := createStore(filepath.Join(t.TempDir(), "store"), math.MaxInt>>20/resultSize); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
		if err == nil {
			s.close()
		}
	}
}
