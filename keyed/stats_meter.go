package keyed

import (
	"sync"
	"sync/atomic"
	"time"
)

// sampleBits says that one function of 2^sampleBits is measured.
const sampleBits = 4

// laneMeter counts what a lane does. Its begin and end are for whoever has the lane;
// anybody may read the rest.
type laneMeter[K comparable] struct {
	done    atomic.Uint64 // functions that have ended
	samples atomic.Uint64 // of them, measured
	waits   atomic.Uint64 // and of them, those that were queued
	wait    atomic.Int64  // nanoseconds, of those measured
	service atomic.Int64
	dice    uint64
	hot     struct {
		sync.Mutex
		sketch[K]
	}
}

// sampled is the time at which a function began, or 0 if it is not measured.
type sampled = time.Duration

// begin decides whether the function that begins is measured.
func (m *laneMeter[K]) begin(key K, entered time.Duration) sampled {
	m.dice ^= m.dice << 13
	m.dice ^= m.dice >> 7
	m.dice ^= m.dice << 17
	if m.dice>>(64-sampleBits) != 0 {
		return 0
	}
	at := now()
	m.hot.Lock()
	m.hot.add(key)
	m.hot.Unlock()
	if entered > 0 {
		m.waits.Add(1)
		m.wait.Add(int64(at - entered))
	}
	return at
}

func (m *laneMeter[K]) end(begun sampled) {
	m.done.Add(1)
	if begun > 0 {
		m.samples.Add(1)
		m.service.Add(int64(now() - begun))
	}
}
