package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

const barWidth = 16

// progressOf is a bar once total is known, a spinner before that, and how much has
// been searched.
func progressOf(c *counts, total *atomic.Int64) program.Drawing {
	return program.NewBar(func(elapsed time.Duration) program.Progress {
		files, bytes := c.files.Load(), c.bytes.Load()
		return program.Progress{
			Done: files, Total: total.Load(),
			Text: fmt.Sprintf("%d files, %d MB, %.0f MB/s", files, bytes/1e6, float64(bytes)/1e6/elapsed.Seconds()),
		}
	}, progressbar.OptionSetWidth(barWidth))
}
