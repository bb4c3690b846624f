package keyed

import (
	"fmt"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// config is what the options of an operator on lanes come to.
type config struct {
	stage.Config
	pinned    bool
	perKey    bool
	maxKeys   int           // 0: not given
	idleAfter time.Duration // 0: not given
	onEvict   any           // nil: not given
	load      any           // nil: not given
}

// Options of this package are stage.Options, so that both kinds stand in one list.
// An operator of another package does not look for them.
type (
	pinnedKey    struct{}
	perKeyKey    struct{}
	maxKeysKey   struct{}
	idleAfterKey struct{}
	onEvictKey   struct{}
	measureKey   struct{}
)

// configure returns what the options come to, for the constructor fn.
func configure(fn string, opts []stage.Option) config {
	c := config{Config: stage.Configure(fn, opts...)}
	c.pinned = c.Value(pinnedKey{}) != nil
	c.perKey = c.Value(perKeyKey{}) != nil
	c.maxKeys, _ = c.Value(maxKeysKey{}).(int)
	c.idleAfter, _ = c.Value(idleAfterKey{}).(time.Duration)
	c.onEvict = c.Value(onEvictKey{})
	c.load = c.Value(measureKey{})
	if c.pinned && c.perKey {
		argPanic(fn, "Pinned and PerKey exclude each other: a lane that comes and goes has no worker of its own")
	}
	return c
}

// Pinned fixes each lane to one of the n workers, so that whatever f keeps for a
// key stays in one processor's cache, and no worker takes over what another one
// is behind with: a slow key holds up all lanes of its worker. Without it a lane
// is run by whichever worker is free. The stage has one goroutine more, which
// pulls.
func Pinned() stage.Option { return stage.With(pinnedKey{}, true) }

// PerKey gives each key that has items in the stage a lane of its own, so that a
// slow key holds up no other one, up to the window. Without it keys fall on a
// fixed number of lanes by their hash, and those that share one wait for each
// other. Lanes are made and dropped on demand; there are at most twice as many as
// the window has room for, and 64 more.
func PerKey() stage.Option { return stage.With(perKeyKey{}, true) }

// MaxKeys bounds the keys of a [Process] that have a state to k ≥ 1; a smaller k
// panics. When the k+1st key comes, the key that has not come for the longest
// time loses its state: once its items are done, the function of [OnEvict] is
// called with it. If it comes again it starts from a new state. Which keys are
// evicted depends on the input alone, not on n or the course of the run.
func MaxKeys(k int) stage.Option {
	stage.CheckSize("keyed.MaxKeys", "k", k, 1)
	return stage.With(maxKeysKey{}, k)
}

// IdleAfter takes the state from a key of a [Process] of which no item has come
// for d > 0; see [MaxKeys]. A smaller d panics. States are looked at when d has
// passed, so it happens between d and 2·d after the key's last item.
func IdleAfter(d time.Duration) stage.Option {
	if d <= 0 {
		argPanic("keyed.IdleAfter", "d is %v, want more than 0", d)
	}
	return stage.With(idleAfterKey{}, d)
}

// OnEvict calls f with each state that a [Process] parts with: by [MaxKeys],
// [IdleAfter], and all that are left when the input has ended. It is called in
// the owner: after all items of the key that came before, before any that comes
// after, and not beside a call for the same key. The state may be kept. It is not
// called once the run has been cancelled. K and S must be those of the Process,
// which panics otherwise; a nil f panics.
func OnEvict[K comparable, S any](f func(key K, state *S)) stage.Option {
	stage.CheckFunc("keyed.OnEvict", "f", f == nil)
	return stage.With(onEvictKey{}, f)
}

// argPanic reports a bad argument of a constructor.
func argPanic(fn, format string, args ...any) {
	panic(fn + ": " + fmt.Sprintf(format, args...))
}
