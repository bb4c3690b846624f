package history

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Together starts the clients at the same moment, as far as there are processors, and
// waits for them.
func Together(clients ...func()) {
	const looks = 100_000 // until it is given up that all are there
	var wg sync.WaitGroup
	var ready atomic.Int64
	procs := min(len(clients), runtime.GOMAXPROCS(0), runtime.NumCPU())
	for _, c := range clients {
		wg.Go(func() {
			ready.Add(1)
			for k := 0; int(ready.Load()) < procs && k < looks; k++ {
				if k%1000 == 999 {
					runtime.Gosched()
				}
			}
			c()
		})
	}
	wg.Wait()
}
