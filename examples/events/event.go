package main

import (
	"context"
	"math/rand/v2"
	"time"
)

// Event is what comes.
type Event struct {
	ID      uint64
	Time    int64 // nanoseconds
	Key     uint32
	_       uint32
	Payload [32]byte
}

// Result is what is kept of it: 32 bytes without padding.
type Result struct {
	ID   uint64
	Time int64
	Key  uint32
	Tag  uint32 // so that a record of zeros is none
	Sum  uint64
}

const resultTag = 0x51_1C_E0_01

// makeEvents makes the events, the same ones for the same numbers.
func makeEvents(c config) []*Event {
	r := rand.New(rand.NewPCG(1, 2))
	key := func() uint32 { return uint32(r.IntN(c.keys)) }
	if c.skew > 0 {
		zipf := rand.NewZipf(r, c.skew, 1, uint64(c.keys-1))
		key = func() uint32 { return uint32(zipf.Uint64()) }
	}
	events := make([]Event, c.events)
	all := make([]*Event, c.events)
	for i := range events {
		e := &events[i]
		all[i] = e
		e.ID, e.Time, e.Key = uint64(i), int64(i)*1000, key()
		for b := 0; b < len(e.Payload); b += 8 {
			v := r.Uint64()
			for k := range 8 {
				e.Payload[b+k] = byte(v >> (8 * k))
			}
		}
	}
	return all
}

// FNV-1a over words of 8 bytes: the checksum that every way computes.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func checksum(p *[32]byte) uint64 {
	sum := uint64(fnvOffset)
	for i := 0; i < len(p); i += 8 {
		word := uint64(p[i]) | uint64(p[i+1])<<8 | uint64(p[i+2])<<16 | uint64(p[i+3])<<24 |
			uint64(p[i+4])<<32 | uint64(p[i+5])<<40 | uint64(p[i+6])<<48 | uint64(p[i+7])<<56
		sum = (sum ^ word) * fnvPrime
	}
	return sum
}

// process is the work on one event. When ctx is done it takes no time any more, so that
// what has been handed out by then, in whatever way, is soon worked off.
func process(ctx context.Context, e *Event, work time.Duration) Result {
	if work > 0 {
		for start := time.Now(); time.Since(start) < work && ctx.Err() == nil; {
		}
	}
	return Result{ID: e.ID, Time: e.Time, Key: e.Key, Tag: resultTag, Sum: checksum(&e.Payload)}
}
