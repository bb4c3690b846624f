package ordered_test

import (
	"fmt"
	"strings"

	"github.com/seed95b73fdc/sluice/ordered"
)

// orderedMap is a map on channels: f runs concurrently, before the receive; the
// sending is in order, behind it. Loop closes out, since out is its done.
func orderedMap[A, B any](in <-chan A, n int, f func(A) B) <-chan B {
	out := make(chan B)
	ordered.Loop(in, out, n, func(a A, canWrite <-chan struct{}) {
		b := f(a)
		<-canWrite
		out <- b
	})
	return out
}

// orderedFilter receives the permission also for what it leaves out.
func orderedFilter[A any](in <-chan A, n int, keep func(A) bool) <-chan A {
	out := make(chan A)
	ordered.Loop(in, out, n, func(a A, canWrite <-chan struct{}) {
		kept := keep(a)
		<-canWrite
		if kept {
			out <- a
		}
	})
	return out
}

// orderedSplit has two channels to close, so it has a done of its own.
func orderedSplit[A any](in <-chan A, n int, test func(A) bool) (yes, no <-chan A) {
	y, o, done := make(chan A), make(chan A), make(chan struct{})
	ordered.Loop(in, done, n, func(a A, canWrite <-chan struct{}) {
		out := o
		if test(a) {
			out = y
		}
		<-canWrite
		out <- a
	})
	go func() {
		<-done
		close(y)
		close(o)
	}()
	return y, o
}

// An ordered map, filter and split on plain channels are a few lines each around
// Loop.
func ExampleLoop() {
	words := make(chan string)
	go func() {
		defer close(words)
		for _, w := range strings.Fields("a sluice is a water channel with a gate at its head") {
			words <- w
		}
	}()
	long := orderedFilter(words, 4, func(w string) bool { return len(w) > 2 })
	upper := orderedMap(long, 4, strings.ToUpper)
	early, late := orderedSplit(upper, 4, func(w string) bool { return w < "M" })
	list := make(chan []string)
	go func() {
		var a []string
		for w := range early {
			a = append(a, w)
		}
		list <- a
	}()
	for w := range late {
		fmt.Println("M to Z:", w)
	}
	fmt.Println("A to L:", <-list)
	// Output:
	// M to Z: SLUICE
	// M to Z: WATER
	// M to Z: WITH
	// A to L: [CHANNEL GATE ITS HEAD]
}
