package program

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// A Bar is a Drawing of how much of something is done.
type Bar struct {
	look []progressbar.Option
	at   func(elapsed time.Duration) Progress
	bar  *progressbar.ProgressBar // nil before the first drawing
	max  int64
}

// Progress is what a Bar shows.
type Progress struct {
	Done  int64
	Total int64  // 0 if it is not known: then a spinner is shown, no bar
	Text  string // "" for none
}

// NewBar makes a bar of the given look. At is called for each drawing.
func NewBar(at func(elapsed time.Duration) Progress, look ...progressbar.Option) *Bar {
	return &Bar{look: look, at: at}
}

// Draw draws the bar.
func (b *Bar) Draw(w io.Writer, elapsed time.Duration) {
	p := b.at(elapsed)
	if p.Total > 0 {
		p.Done = min(p.Done, p.Total-1) // a full bar writes a line of its own and is not drawn again
	} else {
		p.Total = -1 // a spinner
	}
	if b.bar == nil || b.max != p.Total {
		b.Clear(w)
		b.max = p.Total
		b.bar = progressbar.NewOptions64(p.Total, append([]progressbar.Option{
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetSpinnerChangeInterval(0), // it would start a goroutine
		}, b.look...)...)
	}
	if p.Text != "" {
		b.bar.Describe(p.Text)
	}
	b.bar.Set64(p.Done)
}

// Clear takes the bar away.
func (b *Bar) Clear(io.Writer) {
	if b.bar != nil {
		b.bar.Clear()
	}
}
