package stage

import "runtime"

// To park costs little by itself. But where it leaves a processor idle, waking
// that again can take a thousand times as long as a yield, on virtual machines
// above all. So a worker yields for a while before it parks: the consumer is
// about to make room. The consumer does so only shortly: it comes back through
// the scheduler's global queue and keeps its processor from looking for work in
// the queues of the others.
//
// All of it is counted and none timed, because in a synctest bubble the clock
// stands still meanwhile.
const (
	spins    = 24 // yields of a goroutine before it parks, but for
	lookOnce = 8  // yields of a worker between two looks for work
	loiters  = 12 // looks of a worker that finds none, before it parks

	// spinBudget is after how many yields, in any number of waits, a consumer
	// parks at once: so that its processor looks around now and then.
	spinBudget = 128
)

// yield lets other goroutines run; it reports false when it is time to park.
func yield(round *int) bool {
	if *round >= spins {
		return false
	}
	*round++
	runtime.Gosched()
	return true
}
