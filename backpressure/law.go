package backpressure

import (
	"fmt"
	"math"
	"time"
)

// AIMD is additive increase, multiplicative decrease, as in TCP's congestion avoidance
// (Chiu and Jain, "Analysis of the Increase and Decrease Algorithms for Congestion
// Avoidance in Computer Networks", 1989): after a good round the limit rises by Step, if
// it was reached; after a bad one it falls to Backoff times what it was. A round is bad
// if a call failed, or if calls took longer than Within on average.
//
// It needs to be told what slow is. The zero value goes by errors alone.
type AIMD struct {
	Within  time.Duration // 0: however long
	Step    float64       // 0: 1
	Backoff float64       // 0: 0.8; less than 1
}

const (
	defaultStep    = 1
	defaultBackoff = 0.8
)

// Next implements [Law].
func (l AIMD) Next(limit float64, seen Seen) float64 {
	step, backoff := l.Step, l.Backoff
	if step == 0 {
		step = defaultStep
	}
	if backoff == 0 {
		backoff = defaultBackoff
	}
	switch {
	case seen.Failed > 0 || l.Within > 0 && seen.Mean > l.Within:
		return limit * backoff
	case seen.Full:
		return limit + step
	}
	return limit
}

func (l AIMD) check() {
	if l.Within < 0 || !(l.Step >= 0) || math.IsInf(l.Step, 0) || !(l.Backoff >= 0 && l.Backoff < 1) {
		panic(fmt.Sprintf("backpressure.AIMD: Within is %v, Step %v, Backoff %v, want none negative and Backoff below 1", l.Within, l.Step, l.Backoff))
	}
}

// Gradient finds out by itself what slow is. It compares the latency of each round with
// that of an unloaded server, its base: the limit is multiplied by how much better base
// is than what was seen, allowing for Tolerance, and the square root of the limit is
// added, which is the queue that it lets the other side have. So it settles where calls
// take somewhat longer than Tolerance times the base. It is in the manner of TCP Vegas
// (Brakmo and Peterson, 1995), and of the gradient limit of Netflix's
// concurrency-limits. After a round in which a call failed it falls by a fifth more.
//
// The base is the least mean of a round. Because a server may become slower for good,
// the base is measured anew after every 32 rounds: the limit is a quarter of itself until
// as many calls as were under way have ended, and for one round more, which counts.
//
// Use a new one for each [Adaptive]. The zero value has a Tolerance of 1.5.
type Gradient struct {
	Tolerance float64 // 0: 1.5; at least 1

	base   time.Duration
	rounds int     // since the base was measured
	resume float64 // the limit from before the measuring
	before int     // how many of the calls from before may be under way
}

const (
	defaultTolerance = 1.5
	roundsPerBase    = 32
	smoothing        = 0.25 // of a step that is taken at once
	steepest         = 0.5  // a limit falls at most to this in a round

	// The base is measured with so much of the limit. If that is still too much for the
	// server the base is too high, in proportion, and so is the limit that follows: with
	// a part p it never falls below where limit = p·Tolerance·limit + √limit. For a half
	// that is 16, of whatever server; for a quarter it is less than 3.
	partForBase = 0.25
)

// Next implements [Law].
func (l *Gradient) Next(limit float64, seen Seen) float64 {
	l.rounds++
	switch {
	case l.rounds == roundsPerBase:
		l.resume, l.before = limit, int(limit)
		return limit * partForBase
	case l.rounds > roundsPerBase && l.before > 0:
		l.before -= seen.OK + seen.Failed
		return limit
	case l.rounds > roundsPerBase:
		if seen.OK > 0 {
			l.base = seen.Mean
		}
		l.rounds = 0
		return l.resume
	}
	if seen.OK > 0 && (l.base == 0 || seen.Mean < l.base) {
		l.base = seen.Mean
	}
	tolerance := l.Tolerance
	if tolerance == 0 {
		tolerance = defaultTolerance
	}
	gradient := 1.0
	if seen.OK > 0 && seen.Mean > 0 {
		gradient = min(1, max(steepest, tolerance*float64(l.base)/float64(seen.Mean)))
	}
	if seen.Failed > 0 {
		return limit * gradient * defaultBackoff
	}
	next := limit*gradient + math.Sqrt(limit)
	if next > limit && !seen.Full {
		return limit
	}
	return limit + smoothing*(next-limit)
}

func (l *Gradient) check() {
	if l == nil {
		panic("backpressure.Gradient: it is nil")
	}
	if l.Tolerance != 0 && !(l.Tolerance >= 1 && !math.IsInf(l.Tolerance, 0)) {
		panic(fmt.Sprintf("backpressure.Gradient: Tolerance is %v, want at least 1", l.Tolerance))
	}
}
