package batch

import (
	"fmt"
	"math"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// DefaultOpenKeys is how many keys have a batch open in [ByKey] if [OpenKeys]
// does not say otherwise.
const DefaultOpenKeys = 1024

// Option sets when a batch is emitted. One that does not apply to the function it
// is given to, or whose function is for another type of item, panics there.
type Option interface{ set(*settings) }

// settings is what the options come to. The functions are of a type that only
// the constructor knows.
type settings struct {
	within   time.Duration // 0: no bound
	maxWeigh int
	weigh    any // func(T) int
	until    any // func(T) bool
	reuse    bool
	openKeys int
	name     string
}

type option func(*settings)

func (o option) set(s *settings) { o(s) }

// longest is the longest age that is told from none, 146 years: the end of it can
// still be counted from the start of a run.
const longest = math.MaxInt64 / 2

// Within bounds the age of a batch: it is emitted when its first item has been
// there for d > 0, however many it has by then. Items that come later do not
// put that off. A batch whose reader is busy at that time grows on, and is
// emitted as soon as it is asked for.
func Within(d time.Duration) Option {
	if d <= 0 {
		panic(fmt.Sprintf("batch.Within: age is %v, want more than 0", d))
	}
	return option(func(s *settings) { s.within = min(d, longest) })
}

// Weigh bounds the sum of the weights of a batch to max ≥ 1. An item that would
// make a batch heavier begins the next one; one that is heavier by itself is a
// batch of its own. f is called once for each item, in order; its weights are 0 or
// more, and a negative one puts an error in the item's place.
func Weigh[T any](max int, f func(T) int) Option {
	stage.CheckSize("batch.Weigh", "max", max, 1)
	stage.CheckFunc("batch.Weigh", "f", f == nil)
	return option(func(s *settings) { s.maxWeigh, s.weigh = max, f })
}

// Until ends a batch with each item for which f is true, which is its last one. f
// is called once for each item, in order.
func Until[T any](f func(T) bool) Option {
	stage.CheckFunc("batch.Until", "f", f == nil)
	return option(func(s *settings) { s.until = f })
}

// Reuse lets the memory of a batch be used again: a batch is valid only until
// the next one is asked for. That suits a reader that is done with each batch in
// turn, such as [stage.ForEach] with n = 1 or [Flatten]; it does not suit one that
// keeps batches, such as [stage.Collect], nor a stage with n ≥ 1, which takes
// the next one while others are in use.
func Reuse() Option { return option(func(s *settings) { s.reuse = true }) }

// OpenKeys bounds the keys that have a batch open in [ByKey] to n ≥ 1. When one
// more comes, the batch that has been open longest is emitted.
func OpenKeys(n int) Option {
	stage.CheckSize("batch.OpenKeys", "n", n, 1)
	return option(func(s *settings) { s.openKeys = n })
}

// Name names the stage, as [stage.Name] does.
func Name(name string) Option { return option(func(s *settings) { s.name = name }) }

func configure(fn string, opts []Option) settings {
	var s settings
	for i, o := range opts {
		if o == nil {
			panic(fmt.Sprintf("%s: option %d is nil", fn, i))
		}
		o.set(&s)
	}
	return s
}

// refuse panics if an option was given that fn has no use for.
func refuse(fn, option string, given bool) {
	if given {
		panic(fmt.Sprintf("%s: option %s does not apply", fn, option))
	}
}

// typed returns the function of an option as one for items of a known type.
func typed[F any](fn, option string, f any) (typed F) {
	if f == nil {
		return typed
	}
	typed, ok := f.(F)
	if !ok {
		panic(fmt.Sprintf("%s: the function of %s is a %T, want a %T", fn, option, f, typed))
	}
	return typed
}
