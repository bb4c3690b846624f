package keyed

import (
	"fmt"
	"strings"
	"time"
)

const (
	hottestKeys    = 8   // the keys that Stats list
	skewed         = 2   // the multiple of its fair share from which Skew names a lane
	heavyKey       = 0.1 // the share of the load from which it names a key
	muchAtomically = 0.1 // the share of the functions from which it names Atomically
)

// share fills in the shares and rates of lanes that have been there for so long.
func share(lanes []LaneStats, since time.Duration) {
	var done uint64
	for _, l := range lanes {
		done += l.Done
	}
	for i := range lanes {
		lanes[i].Share = float64(lanes[i].Done) / float64(max(1, done))
		lanes[i].Rate = float64(lanes[i].Done) / max(time.Nanosecond, since).Seconds()
	}
}

// skew puts into words which keys and lanes have more than their share.
func skew[K comparable](lanes []LaneStats, keys []KeyShare[K]) string {
	var lines []string
	named := map[int]bool{}
	for _, k := range keys {
		sure := k.Share - k.Over
		if sure < heavyKey {
			continue
		}
		line := fmt.Sprintf("key %v is %.0f %% of the load", k.Key, 100*sure)
		if k.Lane >= 0 && k.Lane < len(lanes) && lanes[k.Lane].Share > 0 {
			line += fmt.Sprintf(", and %.0f %% of that of lane %d", 100*min(1, sure/lanes[k.Lane].Share), k.Lane)
			named[k.Lane] = true
		}
		lines = append(lines, line)
	}
	for i, l := range lanes {
		if times := l.Share * float64(len(lanes)); times >= skewed && !named[i] {
			lines = append(lines, fmt.Sprintf("lane %d has %.1f times its share of the load, and %d waiting", i, times, l.Depth))
		}
	}
	return strings.Join(lines, "\n")
}
