package keyed

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed95b73fdc/sluice/stage"
)

// throttleWindow is the window of Throttle without a Window.
const throttleWindow = 1024

// Throttle passes values on no faster than the limiter of their key says: each
// takes one token of it, and waits for it where there is none, while those of
// other keys pass. [stage.Throttle] does so for a stream as a whole.
//
//	perUser := func(string) *rate.Limiter { return rate.NewLimiter(10, 20) } // 10 a second, 20 at once
//	requests = keyed.Throttle(requests, user, perUser)
//
// Values of one key leave in the order of the input; those of different keys as
// their tokens come. Errors pass at once and without a token; they have no key and no
// place.
//
// It holds up to a window of values, 1,024 without [stage.Window], and pushes back
// when that is full. A key whose values come faster than its tokens fills it in the
// end; from then on the others too come as fast as that key's tokens. What can come
// in larger bursts than the window has room for needs a larger one, or a
// [stage.Buffer] in front that drops.
//
// limit is called for a key that comes for the first time, in input order, as key is
// for each value, and neither may block. Without a limiter, which is nil, the values
// of the key pass at once. It may return the same limiter for several keys, or one
// that others use. A token is reserved when a value comes: a limit that is changed
// later holds for values that come later. What still waits when the run ends gives its
// token back. A limiter without a burst, which lets nothing pass, makes an error of
// each value; one with a limit of 0 holds what is beyond its burst until the run ends.
//
// A key is forgotten once its limiter has all its tokens, as a new one would have
// them; limit is called again when it comes again. So memory is bounded by the keys
// that have come in the time that a limiter takes to fill, or a thousand.
//
// It reads in in a goroutine of its own, in which key and limit are called, and ends
// when in has ended and all is taken. Options are [stage.Name], [stage.Window], and
// [stage.RecoverPanics], with which a panic of key or limit takes the place of its
// value.
func Throttle[A any, K comparable](in stage.Stream[A], key func(A) K, limit func(key K) *rate.Limiter, opts ...stage.Option) stage.Stream[A] {
	const fn = "keyed.Throttle"
	stage.CheckFunc(fn, "key", key == nil)
	stage.CheckFunc(fn, "limit", limit == nil)
	c := stage.Configure(fn, opts...)
	window := throttleWindow
	if c.Window > 0 {
		window = c.Window
	}
	return stage.New(func(s *stage.Scope) stage.Reader[A] {
		p := newPump(s, in, c, "throttle", window)
		t := &delays[A, K]{pump: p, key: key, limit: limit, buckets: map[K]*bucket{}, most: keptBuckets}
		p.stock = t
		return p
	})
}

// keptBuckets is how many limiters there may be before those that are full are
// forgotten.
const keptBuckets = 1024

// delays is the stock of a Throttle: values that wait for their time, and those
// whose time has come. A value's time is known when it comes, for limiters give out
// their tokens in the order in which they are asked. So nobody waits for a limiter:
// the reader waits for the earliest time of all.
//
// Invariants:
//
//   - The times of the values of one key never go back, whatever becomes of its
//     limiter.
//   - Before a value is put among the due ones, all whose time has come have been
//     put there, in the order of their times, and of their coming where these are
//     equal. So the values of one key never overtake each other.
//   - A bucket is forgotten only when no time that it has given is still to come, and
//     a new limiter would be in its state.
type delays[A any, K comparable] struct {
	*pump[A]
	key   func(A) K
	limit func(K) *rate.Limiter

	// The pump's.
	buckets map[K]*bucket
	most    int // that many are looked through for full ones
	lot     []delay[A]
	came    uint64

	// Under mu.
	waiting []delay[A] // a heap by time and number
	due     fifo[A]
}

// bucket is the limiter of a key.
type bucket struct {
	limiter *rate.Limiter // nil: none
	last    time.Duration // the time of the last value
}

func (t *delays[A, K]) put(items []stage.Try[A]) {
	wall := time.Now()
	at := wall.Sub(birth) + 1
	t.lot = t.lot[:0]
	for i := range items {
		d := delay[A]{item: items[i], at: at, number: t.came}
		t.came++
		if d.item.Error == nil {
			if t.sub.Stopped() {
				continue // values are dropped, but not errors
			}
			if err := t.reserve(&d, wall); err != nil {
				d.item, d.at = stage.Try[A]{Error: err}, at
			}
		}
		t.lot = append(t.lot, d)
	}
	t.mu.Lock()
	t.ripen(at)
	for i := range t.lot {
		if d := &t.lot[i]; d.at <= at {
			t.due.push(d.item)
		} else {
			t.wait(*d)
		}
	}
	t.held += len(t.lot)
	t.mu.Unlock()
	clear(t.lot)
	t.cons.Wake()
}

// reserve takes a token for a value, and finds out its time.
func (t *delays[A, K]) reserve(d *delay[A], wall time.Time) (err error) {
	if t.guard {
		defer t.caught(&err)
	}
	k := t.key(d.item.Value)
	b := t.buckets[k]
	if b == nil {
		if len(t.buckets) >= t.most {
			t.forget(wall)
		}
		b = &bucket{limiter: t.limit(k), last: math.MinInt64}
		t.buckets[k] = b
	}
	if b.limiter != nil {
		d.token = *b.limiter.ReserveN(wall, 1)
		if !d.token.OK() {
			return fmt.Errorf("keyed: %s: the limiter of key %v has a burst of %d, want at least 1", t.name, k, b.limiter.Burst())
		}
		// A wait without end stays below the end of time.
		d.at += min(d.token.DelayFrom(wall), math.MaxInt64-max(0, d.at))
	}
	d.at = max(d.at, b.last)
	b.last = d.at
	return nil
}

// forget drops the limiters that are as new ones would be. The map is filled anew,
// since keys that are not equal to themselves cannot be deleted.
func (t *delays[A, K]) forget(wall time.Time) {
	type kept struct {
		key K
		b   *bucket
	}
	var all []kept
	at := wall.Sub(birth) + 1
	for k, b := range t.buckets {
		l := b.limiter
		full := l == nil || l.Limit() == rate.Inf || l.TokensAt(wall) >= float64(l.Burst())
		if b.last > at || !full {
			all = append(all, kept{k, b})
		}
	}
	clear(t.buckets)
	for _, k := range all {
		t.buckets[k.key] = k.b
	}
	t.most = max(keptBuckets, 2*len(all))
}

// drop gives the tokens of what still waits back, the last one first, as limiters
// want it.
func (t *delays[A, K]) drop() {
	wall := time.Now()
	slices.SortFunc(t.waiting, func(a, b delay[A]) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.number, a.number)) })
	for i := range t.waiting {
		t.waiting[i].token.CancelAt(wall)
	}
	t.waiting, t.due, t.buckets, t.lot = nil, fifo[A]{}, nil, nil
}
