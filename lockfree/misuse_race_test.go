//go:build race && !sluicedebug

package lockfree_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/seed95b73fdc/sluice/lockfree"
)

const misuse = "SLUICE_TEST_MISUSE" // the mistake that a child process is to make

// Two producers, two consumers, two owners: the race detector reports it, whether or not
// their calls overlap. The mistake is made in a child process, because a report makes a
// test fail.
func TestMisuseIsReportedByTheRaceDetector(t *testing.T) {
	mistakes := map[string]func(){
		"two producers": func() {
			q := lockfree.NewSPSC[int](8)
			twice(func() { q.TryPush(1) })
		},
		"two producers of chunks": func() {
			q := lockfree.NewSPSC[int](8)
			twice(func() { q.Push([]int{1}) })
		},
		"two consumers": func() {
			q := lockfree.NewSPSC[int](8)
			q.Push([]int{1, 2, 3})
			twice(func() { q.TryPop() })
		},
		"two consumers of chunks": func() {
			q := lockfree.NewSPSC[int](8)
			q.Push([]int{1, 2, 3})
			twice(func() { q.Pop(make([]int, 1)) })
		},
		"two owners": func() {
			d := lockfree.NewDeque[int](8)
			twice(func() { d.Push(1) })
		},
		"nothing": func() { // the roles are handed over as they should be
			q, d := lockfree.NewSPSC[int](8), lockfree.NewDeque[int](8)
			for range 3 {
				done := make(chan struct{})
				go func() {
					defer close(done)
					q.TryPush(1)
					q.Pop(make([]int, 1))
					d.Push(1)
					d.Push(1)
					d.Pop()
				}()
				d.Steal()
				<-done
			}
		},
	}
	if name := os.Getenv(misuse); name != "" {
		mistakes[name]()
		return
	}
	for name := range mistakes {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestMisuseIsReportedByTheRaceDetector$")
			cmd.Env = append(os.Environ(), misuse+"="+name)
			out, err := cmd.CombinedOutput()
			reported := strings.Contains(string(out), "WARNING: DATA RACE")
			if reported != (name != "nothing") || reported != (err != nil) {
				t.Errorf("reported: %v, %v\n%s", reported, err, out)
			}
		})
	}
}

// twice runs f in two goroutines, with nothing between them that the race detector would
// take for synchronisation.
func twice(f func()) {
	a, b := make(chan struct{}), make(chan struct{})
	go func() {
		f()
		f()
		close(a)
	}()
	go func() {
		f()
		f()
		close(b)
	}()
	<-a
	<-b
}
