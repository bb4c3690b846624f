package ordered_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/ordered"
)

// fed returns a channel with 0 to size-1, closed.
func fed(size int) <-chan int {
	in := make(chan int, size)
	for v := range size {
		in <- v
	}
	close(in)
	return in
}

// P1, P3, C33: as for the stages, the instants are known at which calls begin and
// may write, whatever they take; n calls run, and a call waits for nothing but
// those before it.
func TestP1P3C33LoopKeepsTheScheduleOfItsCallsExactly(t *testing.T) {
	const size = 24
	seed := uint64(time.Now().UnixNano())
	early := 0
	for _, n := range []int{1, 2, 3, 8, 30} {
		for _, shape := range shapes {
			for range 10 {
				seed++
				rng := rand.New(rand.NewPCG(seed, 0))
				takes := make([]time.Duration, size)
				for v := range takes {
					takes[v] = shape.takes(v, size, rng)
				}
				begins, comes := schedule(takes, n, n, true)
				if waits(begins, comes, takes) {
					early++
				}
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					var got []int // by those who have the permission
					done := make(chan struct{})
					ordered.Loop(fed(size), done, n, func(v int, canWrite <-chan struct{}) {
						if at := time.Since(start); at != begins[v] {
							t.Errorf("n=%d %s, seed %d: call %d began at %v, want %v", n, shape.name, seed, v, at, begins[v])
						}
						time.Sleep(takes[v])
						<-canWrite
						if at := time.Since(start); at != comes[v] {
							t.Errorf("n=%d %s, seed %d: call %d may write at %v, want %v", n, shape.name, seed, v, at, comes[v])
						}
						got = append(got, v)
					})
					<-done
					if at := time.Since(start); at != comes[size-1] || !slices.Equal(got, upTo(size)) {
						t.Errorf("n=%d %s, seed %d: %v, done at %v", n, shape.name, seed, got, at)
					}
				})
			}
		}
	}
	if early < 100 {
		t.Errorf("only %d times had a call to wait", early)
	}
}

// What stands after the receive runs alone: without the chain this is a race.
func TestP1LoopLetsOneCallWriteAtATime(t *testing.T) {
	share.Once(t)
	size := 20_000
	if raced {
		size = 5_000
	}
	for _, procs := range []int{1, 2, 4} {
		old := runtime.GOMAXPROCS(procs)
		for _, n := range []int{1, 2, 8} {
			out := make(chan int)
			sum := 0
			ordered.Loop(fed(size), out, n, func(v int, canWrite <-chan struct{}) {
				for range v * 7919 % 5 {
					runtime.Gosched()
				}
				<-canWrite
				sum += v
				out <- v
			})
			next := 0
			for v := range out {
				if v != next {
					t.Fatalf("on %d, n=%d: got %d, want %d", procs, n, v, next)
				}
				next++
			}
			if next != size || sum != size*(size-1)/2 {
				t.Errorf("on %d, n=%d: %d values, sum %d", procs, n, next, sum)
			}
		}
		runtime.GOMAXPROCS(old)
	}
}

// A call that ends its goroutine keeps its place, whether it has received or not,
// and costs no worker.
func TestP9LoopPassesByACallThatEndsItsGoroutine(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		for _, before := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				var m meter
				out := make(chan int)
				ordered.Loop(fed(60), out, n, func(v int, canWrite <-chan struct{}) {
					m.enter()
					defer m.leave()
					time.Sleep(time.Duration(1+v*7%5) * time.Second)
					if v%3 == 0 && before {
						runtime.Goexit()
					}
					<-canWrite
					if v%3 == 0 {
						runtime.Goexit()
					}
					out <- v
				})
				var want []int
				for v := range 60 {
					if v%3 > 0 {
						want = append(want, v)
					}
				}
				var got []int
				for v := range out {
					got = append(got, v)
				}
				if !slices.Equal(got, want) || int(m.most.Load()) != n {
					t.Errorf("n=%d, before the receive: %v: %v, %d calls at once", n, before, got, m.most.Load())
				}
			})
		}
	}
}

// done is closed when the last call has returned, and not before; without a done
// that is nobody's business.
func TestP5LoopClosesDoneAfterTheLastCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		done := make(chan int)
		ordered.Loop(fed(3), done, 8, func(v int, canWrite <-chan struct{}) {
			<-canWrite
			time.Sleep(time.Second)
		})
		if _, ok := <-done; ok || time.Since(start) != 3*time.Second {
			t.Errorf("closed %v after %v", !ok, time.Since(start))
		}

		in := make(chan int)
		close(in)
		ordered.Loop(in, done2(t), 3, func(int, <-chan struct{}) { t.Error("called") })

		got := make(chan int, 3)
		ordered.Loop[int, int](fed(3), nil, 2, func(v int, canWrite <-chan struct{}) { <-canWrite; got <- v })
		for want := range 3 {
			if v := <-got; v != want {
				t.Errorf("got %d, want %d", v, want)
			}
		}
	})
}

// done2 returns a channel that has to be closed before the test ends.
func done2(t *testing.T) chan<- string {
	done := make(chan string)
	var ended sync.WaitGroup
	ended.Go(func() { <-done })
	t.Cleanup(ended.Wait)
	return done
}

// P10: permits are pooled.
func TestP10LoopAllocatesNothingPerValue(t *testing.T) {
	if raced {
		t.Skip("the race detector slows this down and adds nothing")
	}
	allocs := func(size int) uint64 {
		least := ^uint64(0)
		for range 3 {
			in, out := fed(size), make(chan int, 16)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			ordered.Loop(in, out, 4, func(v int, canWrite <-chan struct{}) { <-canWrite; out <- v })
			for range out {
			}
			runtime.ReadMemStats(&after)
			least = min(least, after.Mallocs-before.Mallocs)
		}
		return least
	}
	if once, twice := allocs(20_000), allocs(40_000); twice > once+100 {
		t.Errorf("%d allocations, %d for twice the values", once, twice)
	}
}

func TestP11LoopPanicsAboutBadArguments(t *testing.T) {
	in, done := make(chan int), make(chan int)
	f := func(int, <-chan struct{}) {}
	for want, call := range map[string]func(){
		"ordered.Loop: n is 0, want at least 1":                  func() { ordered.Loop(in, done, 0, f) },
		"ordered.Loop: n is -3, want at least 1":                 func() { ordered.Loop(in, done, -3, f) },
		"ordered.Loop: n is 1048577, want 0 (Inline) to 1048576": func() { ordered.Loop(in, done, 1048577, f) },
		"ordered.Loop: in is nil":                                func() { ordered.Loop(nil, done, 1, f) },
		"ordered.Loop: f is nil":                                 func() { ordered.Loop[int](in, done, 1, nil) },
	} {
		if got := fmt.Sprint(raised(call)); got != want {
			t.Errorf("panics with %q, want %q", got, want)
		}
	}
}

// misuses are calls that break the contract of f. They end the program, so they
// run in one of their own; in a bubble, so that nothing takes real time.
var misuses = map[string]struct {
	f    func(v int, canWrite <-chan struct{})
	want string
}{
	"forgets": {func(v int, canWrite <-chan struct{}) {
		if v != 5 {
			<-canWrite
		}
	}, "panic: ordered.Loop: f returned without having received from canWrite"},
	"forgets, late": {func(v int, canWrite <-chan struct{}) {
		if v == 5 {
			time.Sleep(time.Hour) // it has been given long ago
			return
		}
		<-canWrite
	}, "panic: ordered.Loop: f returned without having received from canWrite"},
	"twice": {func(v int, canWrite <-chan struct{}) {
		<-canWrite
		if v == 5 {
			<-canWrite
		}
	}, "panic: ordered.Loop: f received from canWrite more than once"},
	"twice, after a day's work": {func(v int, canWrite <-chan struct{}) {
		<-canWrite
		switch v {
		case 5:
			time.Sleep(24 * time.Hour) // nobody looks any more
		case 9:
			for range 3 {
				<-canWrite
			}
		}
	}, "panic: ordered.Loop: f received from canWrite more than once"},
	"again and again": {func(v int, canWrite <-chan struct{}) {
		for range canWrite {
			if v != 5 {
				return
			}
		}
	}, "panic: ordered.Loop: f received from canWrite more than once"},
	"twice, and ends its goroutine": {func(v int, canWrite <-chan struct{}) {
		<-canWrite
		if v == 5 {
			<-canWrite
			runtime.Goexit()
		}
	}, "panic: ordered.Loop: f received from canWrite more than once"},
	"panics": {func(v int, canWrite <-chan struct{}) {
		<-canWrite
		if v == 5 {
			thrower("page is torn")
		}
	}, "panic: page is torn"},
	"panics before": {func(v int, canWrite <-chan struct{}) {
		if v == 5 {
			thrower("page is torn")
		}
		<-canWrite
	}, "ordered_test.thrower"},
}

const misuseEnv = "SLUICE_LOOP_MISUSE"

func TestLoopFindsACallThatForgetsToReceiveOrReceivesTwice(t *testing.T) {
	if name := os.Getenv(misuseEnv); name != "" {
		kind, n, _ := strings.Cut(name, "/")
		synctest.Test(t, func(t *testing.T) {
			done := make(chan int)
			ordered.Loop(fed(20), done, len(n), misuses[kind].f)
			<-done
		})
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for kind, m := range misuses {
		for _, n := range []string{"1", "333"} { // as many as it has digits
			t.Run(kind+"/"+n, func(t *testing.T) {
				t.Parallel()
				child := exec.Command(exe, "-test.run=^"+strings.Split(t.Name(), "/")[0]+"$", "-test.timeout=30s")
				child.Env = append(os.Environ(), misuseEnv+"="+kind+"/"+n)
				out, err := child.CombinedOutput()
				if _, failed := err.(*exec.ExitError); !failed || !strings.Contains(string(out), m.want) || strings.Contains(string(out), "timed out") {
					t.Errorf("%v, want %q:\n%s", err, m.want, out)
				}
			})
		}
	}
}
