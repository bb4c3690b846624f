package measure

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Others watches how much of the machine other processes use while this one
// measures. It knows on Linux alone.
type Others struct {
	start      time.Time
	busy, ours float64 // CPU seconds at the start
	err        error
}

// WatchOthers starts to watch.
func WatchOthers() Others {
	o := Others{start: time.Now()}
	o.busy, o.ours, o.err = cpuSeconds()
	return o
}

// Share says which part of the CPU time that there was went to other
// processes, in percent; "unknown" where that cannot be found out. Above a few
// percent, measure again.
func (o Others) Share() string {
	busy, ours, err := cpuSeconds()
	if o.err != nil || err != nil {
		return unknown
	}
	there := time.Since(o.start).Seconds() * float64(runtime.NumCPU())
	return fmt.Sprintf("%.0f %%", 100*max(0, (busy-o.busy)-(ours-o.ours))/there)
}

// cpuSeconds returns the CPU time that all processes and this one have used.
func cpuSeconds() (busy, ours float64, err error) {
	all, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	self, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	return parseCPU(string(all), string(self))
}

// parseCPU reads the two files as proc(5) describes them.
func parseCPU(all, self string) (busy, ours float64, err error) {
	const ticks = 100 // USER_HZ, the same on every platform that Go runs on
	first, _, _ := strings.Cut(all, "\n")
	// cpu user nice system idle iowait irq softirq steal …
	busy, err = sum(strings.Fields(first), 1, 2, 3, 6, 7, 8)
	if err != nil {
		return 0, 0, err
	}
	// pid (name) state …: the name may hold anything, so count from behind it.
	_, rest, _ := strings.Cut(self[max(0, strings.LastIndexByte(self, ')')):], " ")
	const utime, stime = 11, 12 // fields 14 and 15 of the file, from the state on
	ours, err = sum(strings.Fields(rest), utime, stime)
	return busy / ticks, ours / ticks, err
}

// sum adds up the given fields.
func sum(fields []string, which ...int) (float64, error) {
	total := 0.0
	for _, i := range which {
		if i >= len(fields) {
			return 0, fmt.Errorf("measure: %d fields, want more than %d", len(fields), i)
		}
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return 0, err
		}
		total += v
	}
	return total, nil
}
