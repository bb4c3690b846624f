//go:build !windows

package sink

func brokenPipe(error) bool { return false }
