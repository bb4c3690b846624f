package main

import (
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

const barWidth = 24

// progressOf is a bar of how many of the days are done.
func progressOf(done *atomic.Int64, days int) program.Drawing {
	return program.NewBar(func(time.Duration) program.Progress {
		return program.Progress{Done: done.Load(), Total: int64(days)}
	},
		progressbar.OptionSetWidth(barWidth),
		progressbar.OptionShowCount(),
		progressbar.OptionSetItsString("days"),
	)
}
