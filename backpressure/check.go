package backpressure

import "fmt"

// check panics, naming the function fn and its argument, unless v is in [least, most].
func check(fn, arg string, v, least, most int) {
	if v < least || v > most {
		panic(fmt.Sprintf("backpressure.%s: %s is %d, want %d to %d", fn, arg, v, least, most))
	}
}

// checkPermits is check for the number of permits in a call.
func checkPermits(fn string, n int) {
	if n < 0 {
		panic(fmt.Sprintf("backpressure.%s: n is %d, want at least 0", fn, n))
	}
}
