package main

import "time"

// config is what the groups are built from.
type config struct {
	items int                            // per run, for rows whose work is cheap
	spin  func(time.Duration) calibrated // work of a given duration
}

// busy is how long one run of a plain loop should take in rows whose f works.
const busy = 40 * time.Millisecond

// itemsFor returns how many items of work d a run should have.
func (c config) itemsFor(d time.Duration) int {
	if d <= 0 {
		return c.items
	}
	return max(1, min(c.items, int(busy/d)))
}
