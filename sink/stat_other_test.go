//go:build !linux

package sink

import "testing"

func allocatedBytes(testing.TB, string) int64 { return 0 }
