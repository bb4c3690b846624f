package main

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

const barWidth = 16

// progressOf is a bar of how much of the input of size bytes (0 if not known) is
// done, at what rate, in what time.
func progressOf(out *output, size int64) program.Drawing {
	return program.NewBar(func(elapsed time.Duration) program.Progress {
		lines := out.lines.Load()
		return program.Progress{
			Done: out.offset.Load(), Total: size,
			Text: fmt.Sprintf("%d lines, %.0f lines/s", lines, float64(lines)/elapsed.Seconds()),
		}
	},
		progressbar.OptionSetWidth(barWidth),
		progressbar.OptionShowBytes(true),
		progressbar.OptionUseIECUnits(true),
	)
}
