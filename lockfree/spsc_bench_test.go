package lockfree_test

import (
	"runtime"
	"testing"

	"github.com/seed95b73fdc/sluice/lockfree"
)

func BenchmarkSPSC(b *testing.B) {
	b.Run("one by one", func(b *testing.B) {
		q := lockfree.NewSPSC[int](1024)
		go func() {
			for v := range b.N {
				for !q.TryPush(v) {
					runtime.Gosched()
				}
			}
		}()
		for v := 0; v < b.N; v++ {
			got, ok := q.TryPop()
			for !ok {
				runtime.Gosched()
				got, ok = q.TryPop()
			}
			if got != v {
				b.Fatalf("got %d, want %d", got, v)
			}
		}
	})
	b.Run("chunks of 64", func(b *testing.B) {
		q := lockfree.NewSPSC[int](1024)
		go func() {
			var chunk [64]int
			for next := 0; next < b.N; {
				n := min(len(chunk), b.N-next)
				for i := range n {
					chunk[i] = next + i
				}
				for sent := 0; sent < n; {
					k := q.Push(chunk[sent:n])
					if sent += k; k == 0 {
						runtime.Gosched()
					}
				}
				next += n
			}
		}()
		var chunk [64]int
		for next := 0; next < b.N; {
			n := q.Pop(chunk[:])
			if n == 0 {
				runtime.Gosched()
			}
			for _, got := range chunk[:n] {
				if got != next {
					b.Fatalf("got %d, want %d", got, next)
				}
				next++
			}
		}
	})
	b.Run("channel", func(b *testing.B) {
		q := make(chan int, 1024)
		go func() {
			for v := range b.N {
				q <- v
			}
		}()
		for v := range b.N {
			if got := <-q; got != v {
				b.Fatalf("got %d, want %d", got, v)
			}
		}
	})
}
