package ordered

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/seed95b73fdc/sluice/stage"
)

// Whoever gives a permission wakes its waiter when it has given it. By then the item
// may have seen it and written, and the permission belong to another item, which
// waits: it is woken in vain, and waits on.
func TestP1LateWakeUpIsNoPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := stage.New(func(s *stage.Scope) stage.Reader[int] {
			var d desk
			p := newPassing[int](&d, s, "late", false)
			first := p.last
			if !first.await() {
				t.Error("the first item waits")
			}
			p.pool = append(p.pool, first)
			again := p.get()
			if again != first {
				t.Fatal("the pool has given another one")
			}
			wrote := make(chan bool, 1)
			s.Go("waits", func() { wrote <- again.await() })
			synctest.Wait()
			again.wait.Wake() // for the item before
			synctest.Wait()
			if len(wrote) > 0 {
				t.Error("a wake-up that was another item's counts as the permission")
			}
			again.give()
			if !<-wrote {
				t.Error("the permission has been given, and is not there")
			}
			p.close()
			return stage.Open(s, stage.Of[int]())
		})
		if err := stage.Discard(context.Background(), in); err != nil {
			t.Error(err)
		}
	})
}
