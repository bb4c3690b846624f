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

// sampled throws a dice, whose state is nobody else's: one of 2^sampleBits.
func sampled(dice *uint64) bool {
	*dice += 0x9E3779B97F4A7C15 // splitmix64, by Steele, Lea and Flood, OOPSLA 2014
	x := (*dice ^ *dice>>30) * 0xBF58476D1CE4E5B9
	return x>>(64-sampleBits) == 0
}

// stride is how far it is to the next one of such of which one in mean is measured.
func stride(dice *uint64, mean uint64) int {
	*dice += 0x9E3779B97F4A7C15
	x := (*dice ^ *dice>>30) * 0xBF58476D1CE4E5B9
	return 1 + int((x>>32)*(2*mean-1)>>32)
}

// begin decides whether the function that begins is measured: then it returns the
// time, else 0.
func (m *laneMeter[K]) begin(key K, entered time.Duration) time.Duration {
	if !sampled(&m.dice) {
		return 0
	}
	at := now()
	m.hot.Lock()
	m.hot.add(key, 1)
	m.hot.Unlock()
	if entered != 0 {
		m.waits.Add(1)
		m.wait.Add(int64(at - entered))
	}
	return at
}

func (m *laneMeter[K]) end(begun time.Duration) {
	m.done.Add(1)
	if begun != 0 {
		m.samples.Add(1)
		m.service.Add(int64(now() - begun))
	}
}
