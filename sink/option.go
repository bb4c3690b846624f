package sink

import (
	"fmt"
	"time"
)

// LogOption sets a property of a Log: a Durability, SegmentSize, ReadOnly.
type LogOption interface{ log(*logConfig) }

type logConfig struct {
	durability Durability
	segment    int
	readOnly   bool
	poll       time.Duration
	sys        system
}

type logOption func(*logConfig)

func (f logOption) log(c *logConfig) { f(c) }

// Durability says what an acknowledged record, one whose Append has returned,
// survives. It is a LogOption. In each case Append returns only when all records
// before it are acknowledged too or about to be, so what survives is a prefix.
type Durability time.Duration

const (
	// Buffered records survive the process: they are in the kernel's memory when
	// Append returns, and a kill -9 does not lose one. A power cut, or a crash of
	// the kernel, loses those since the last Sync. It is the default.
	Buffered Durability = 0
	// EverySync records survive a power cut: Append returns when they are on the
	// disk. Calls that wait at one time share one write of the disk's cache.
	EverySync Durability = -1
)

// Interval records survive the process when Append returns, as Buffered ones do,
// and a power cut d later: a goroutine calls Sync every d while there is
// something to sync. A power cut loses at most what was acknowledged within d
// and the duration of one Sync. If that Sync fails, every Append, Sync, Drop and Close
// after it returns its error. d of less than 1 ms panics.
func Interval(d time.Duration) Durability {
	if d < time.Millisecond {
		panic(fmt.Sprintf("sink.Interval: d is %v, want at least 1ms", d))
	}
	return Durability(d)
}

func (d Durability) log(c *logConfig) { c.durability = d }

// String returns the level as it is written in Go.
func (d Durability) String() string {
	switch d {
	case Buffered:
		return "Buffered"
	case EverySync:
		return "EverySync"
	}
	return fmt.Sprintf("Interval(%v)", time.Duration(d))
}

const (
	defaultSegment = 16 << 20
	minSegment     = 64 << 10
	maxSegment     = 1 << 30
)

// SegmentSize is how many bytes of the file are mapped at a time, 64 KiB to 1 GiB,
// 16 MiB if not given; it is rounded up to whole groups of blocks. Space is allocated
// before it is used, 512 KiB at a time or a block if that is larger, and one such
// step ahead of the writers: a log that is open takes at most 1 MiB, or two blocks,
// more of the disk than its records. When the disk has less than that left, the log
// grows by what there is. Other values panic.
func SegmentSize(bytes int) LogOption {
	if bytes < minSegment || bytes > maxSegment {
		panic(fmt.Sprintf("sink.SegmentSize: bytes is %d, want %d to %d", bytes, minSegment, maxSegment))
	}
	return logOption(func(c *logConfig) { c.segment = bytes })
}

// ReadOnly opens a log for reading, whether or not it is being written by another
// process. Nothing of the file is changed or locked.
func ReadOnly() LogOption { return logOption(func(c *logConfig) { c.readOnly = true }) }

// PollEvery is how often Follow looks whether another process has written
// something, 5 ms if not given. Less than 1 ms panics.
func PollEvery(d time.Duration) LogOption {
	if d < time.Millisecond {
		panic(fmt.Sprintf("sink.PollEvery: d is %v, want at least 1ms", d))
	}
	return logOption(func(c *logConfig) { c.poll = d })
}

const defaultPoll = 5 * time.Millisecond

func configureLog(fn string, opts []LogOption) logConfig {
	c := logConfig{segment: defaultSegment, poll: defaultPoll, sys: host}
	for _, o := range opts {
		if o == nil {
			panic(fn + ": option is nil")
		}
		o.log(&c)
	}
	return c
}
