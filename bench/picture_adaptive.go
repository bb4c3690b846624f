package main

import (
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed95b73fdc/sluice/backpressure"
)

// The picture of Adaptive shows a limit that follows a server: how many calls are with
// it, what the limit is, and how long a call takes, over time. The server is simulated
// in virtual time, so it is the same picture on every machine. The limit, the laws and
// the semaphore are the real ones.

// adaptiveStep is a stretch of the simulation.
type adaptiveStep struct {
	what    string
	until   time.Duration
	units   int // calls that the server can serve at once without becoming slower
	callers int // those who call, again and again
}

// adaptiveSteps: the server loses three quarters of itself and gets them back, and
// most callers go away and come back.
var adaptiveSteps = []adaptiveStep{
	{"8 units, 40 callers", 5 * time.Second, 8, 40},
	{"2 units, 40 callers", 12 * time.Second, 2, 40},
	{"8 units, 40 callers again", 18 * time.Second, 8, 40},
	{"8 units, 5 callers", 23 * time.Second, 8, 5},
	{"8 units, 40 callers again", 28 * time.Second, 8, 40},
}

const (
	adaptiveBase   = 10 * time.Millisecond // a call of a server that is not overloaded
	adaptiveWithin = 20 * time.Millisecond // what AIMD is told
	adaptiveMost   = 200                   // bound of the limit
	adaptiveBin    = 100 * time.Millisecond
	adaptiveSettle = 2 * time.Second // after a change, that the table leaves out
)

// adaptiveWay is one contender. Without a law nothing limits the calls.
type adaptiveWay struct {
	name string
	law  func() backpressure.Law
}

var adaptiveWays = []adaptiveWay{
	{"no limit", nil},
	{"AIMD", func() backpressure.Law { return backpressure.AIMD{Within: adaptiveWithin} }},
	{"Gradient", func() backpressure.Law { return &backpressure.Gradient{} }},
}

// adaptiveSample is what came of the time up to at.
type adaptiveSample struct {
	at      time.Duration
	load    float64       // calls with the server, on average
	limit   int           // at the end; 0 if there is none
	latency time.Duration // of the calls that ended, on average; 0 if none has
	ended   int
}

// adaptiveRun is a simulation under way.
type adaptiveRun struct {
	now     time.Duration
	units   int
	callers int
	jitter  *rand.Rand

	limit  *backpressure.Adaptive // nil: none
	permit *backpressure.PaddedSemaphore
	full   bool // the limit has been reached in this round

	calls callHeap // those with the server
	sum   time.Duration
	area  time.Duration // the number of calls with the server, over time
	bin   adaptiveSample
}

// simulate runs the steps, and returns a sample for each bin of time.
func (w adaptiveWay) simulate(steps []adaptiveStep) []adaptiveSample {
	r := &adaptiveRun{jitter: rand.New(rand.NewPCG(1, 2))}
	if w.law != nil {
		r.permit = backpressure.NewPadded(1)
		r.limit = backpressure.NewAdaptive(backpressure.SetterFunc(r.permit.Resize), r.roundsOf(w.law()), 1, adaptiveMost)
	}
	var samples []adaptiveSample
	for _, s := range steps {
		r.units, r.callers = s.units, s.callers
		r.begin()
		for r.now < s.until {
			end := r.now + adaptiveBin
			for len(r.calls) > 0 && r.calls[0].end <= end {
				r.advance(r.calls[0].end)
				r.finish()
				r.begin()
			}
			r.advance(end)
			samples = append(samples, r.sample())
		}
	}
	return samples
}

// roundsOf returns the law, told whether the limit was reached as Do would tell it:
// Observe, which knows of no calls but those that have ended, says that it always was.
func (r *adaptiveRun) roundsOf(law backpressure.Law) backpressure.Law {
	return lawFunc(func(limit float64, seen backpressure.Seen) float64 {
		seen.Full, r.full = r.full, false
		return law.Next(limit, seen)
	})
}

type lawFunc func(limit float64, seen backpressure.Seen) float64

func (f lawFunc) Next(limit float64, seen backpressure.Seen) float64 { return f(limit, seen) }

// begin sends as many calls as there are callers and permits for. Beyond its units the
// server becomes slower in proportion, for the call that comes; and no two calls take
// exactly as long.
func (r *adaptiveRun) begin() {
	const spread = 20 // percent, half of it to either side
	for len(r.calls) < r.callers && (r.permit == nil || r.permit.TryAcquire(1)) {
		load := len(r.calls) + 1
		takes := adaptiveBase * time.Duration(max(r.units, load)) / time.Duration(r.units)
		takes += takes * time.Duration(r.jitter.IntN(spread+1)-spread/2) / 100
		heap.Push(&r.calls, simulatedCall{r.now, r.now + takes})
		if r.limit != nil && load >= r.limit.Limit() {
			r.full = true
		}
	}
}

// finish ends the call that is over first.
func (r *adaptiveRun) finish() {
	c := heap.Pop(&r.calls).(simulatedCall)
	r.bin.ended++
	r.sum += r.now - c.begin
	if r.limit != nil {
		r.limit.Observe(r.now-c.begin, nil)
		r.permit.Release(1)
	}
}

func (r *adaptiveRun) advance(to time.Duration) {
	r.area += (to - r.now) * time.Duration(len(r.calls))
	r.now = to
}

// sample closes a bin.
func (r *adaptiveRun) sample() adaptiveSample {
	s := r.bin
	s.at, s.load = r.now, float64(r.area)/float64(adaptiveBin)
	if s.ended > 0 {
		s.latency = r.sum / time.Duration(s.ended)
	}
	if r.limit != nil {
		s.limit = r.limit.Limit()
	}
	r.bin, r.sum, r.area = adaptiveSample{}, 0, 0
	return s
}

// simulatedCall is a call with the server.
type simulatedCall struct{ begin, end time.Duration }

// callHeap has the call that ends first at its top.
type callHeap []simulatedCall

func (h callHeap) Len() int           { return len(h) }
func (h callHeap) Less(i, j int) bool { return h[i].end < h[j].end }
func (h callHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *callHeap) Push(c any)        { *h = append(*h, c.(simulatedCall)) }
func (h *callHeap) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}

// adaptiveFigures are the averages of a step, once the limit has had time to settle.
type adaptiveFigures struct {
	perSecond, latency float64 // calls, and milliseconds
	load, limit        float64
}

func figuresOfStep(samples []adaptiveSample, from, until time.Duration) (f adaptiveFigures) {
	bins, ended := 0, 0
	for _, s := range samples {
		if s.at <= from+adaptiveSettle || s.at > until {
			continue
		}
		bins++
		ended += s.ended
		f.load += s.load
		f.limit += float64(s.limit)
		f.latency += s.latency.Seconds() * 1e3 * float64(s.ended)
	}
	f.perSecond = float64(ended) / (until - from - adaptiveSettle).Seconds()
	f.latency /= float64(ended)
	f.load /= float64(bins)
	f.limit /= float64(bins)
	return f
}

// adaptiveTable writes the figures of all steps as a table in Markdown.
func adaptiveTable(w io.Writer, samples [][]adaptiveSample) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Simulated: a call takes %v with at most as many calls as the server has units, and longer in proportion with more. "+
		"AIMD is told that %v are good, Gradient is told nothing. Averages, without the first %v of each stretch.\n\n",
		adaptiveBase, adaptiveWithin, adaptiveSettle)
	fmt.Fprint(&b, "| | | limit | calls with the server | calls per second | ms per call |\n|---|---|---:|---:|---:|---:|\n")
	from := time.Duration(0)
	for _, s := range adaptiveSteps {
		what := s.what
		for i, way := range adaptiveWays {
			f := figuresOfStep(samples[i], from, s.until)
			limit := "–"
			if way.law != nil {
				limit = fmt.Sprintf("%.1f", f.limit)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %.1f | %.0f | %.1f |\n", what, way.name, limit, f.load, f.perSecond, f.latency)
			what = ""
		}
		from = s.until
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

// drawAdaptive draws the picture into dir, as adaptive.svg and adaptive.png, and writes
// a table of its averages to w.
func drawAdaptive(dir string, w io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var samples [][]adaptiveSample
	for _, way := range adaptiveWays {
		samples = append(samples, way.simulate(adaptiveSteps))
	}
	for _, format := range []string{"svg", "png"} {
		if err := saveAdaptive(samples, filepath.Join(dir, "adaptive."+format)); err != nil {
			return err
		}
	}
	return adaptiveTable(w, samples)
}
