package stage

import (
	"reflect"
	"strconv"
)

// Inline is the n that runs a function in the goroutine of whoever pulls: no
// goroutine, no hop, no window. It is for cheap pure functions.
const Inline = 0

// maxN bounds n: what is larger is a mistake.
const maxN = 1 << 20

// Option sets a property of one stage.
type Option func(*Config)

// Config is what the options of a stage come to. Operators outside this
// package get it from [Configure].
type Config struct {
	Name          string // "" if none was given
	Window        int    // 0 if none was given
	RecoverPanics bool   // whether that was given

	Parallelism *Parallelism // nil if none was given; see [Resizable]

	values []any // of With: keys and values in turn
}

// With gives an operator outside this package a property that this one knows
// nothing of: it finds the value in [Config.Value], under the key. Operators that
// do not know the key ignore it. Keys are compared with ==; as for
// [context.WithValue], give them a type of your own. A nil key, or one that
// cannot be compared, panics.
func With(key, value any) Option {
	CheckFunc("stage.With", "key", key == nil)
	if !reflect.TypeOf(key).Comparable() {
		argPanic("stage.With", "key is a %T, which cannot be compared", key)
	}
	return func(c *Config) { c.values = append(c.values, key, value) }
}

// Value returns what [With] was last given under the key, or nil.
func (c Config) Value(key any) any {
	for i := len(c.values) - 2; i >= 0; i -= 2 {
		if c.values[i] == key {
			return c.values[i+1]
		}
	}
	return nil
}

// Name names a stage in Stats, in errors and panics, and in the pprof label of
// its goroutines. Without it a stage is called after its operator and its
// number in the run, as in "map#2".
func Name(name string) Option { return func(c *Config) { c.Name = name } }

// Window bounds the items that a stage holds, taken from upstream and not yet
// taken by downstream, to exactly w ≥ 1; a smaller w panics. With a window
// smaller than n, no more than w calls run at once. Without it the window is n
// while the function is slow and up to 64·n while it is cheap.
//
// For [FlatMap] it is the number of values whose inner streams have begun and
// not been passed on to their end, n if not given. For [Split], [Partition],
// [Tee] and [Balance] it is the number of items that each branch holds, 64 if
// not given. With [Inline] it has no effect.
func Window(w int) Option {
	if w < 1 {
		argPanic("stage.Window", "window is %d, want at least 1", w)
	}
	return func(c *Config) { c.Window = w }
}

// RecoverPanics makes a panic of a stage's function the error of the item that
// caused it, a *[Panic] in the item's place, instead of the end of the run. For
// [FlatMap] that is a panic of the function that makes the inner streams, not
// one within them. [Split], [Partition], [Tee] and [Balance] ignore it,
// and what takes no options, such as [Tap] or a source, has none to give.
func RecoverPanics() Option { return func(c *Config) { c.RecoverPanics = true } }

// Configure returns what the options come to, for the constructor fn of an
// operator outside this package; fn is named in the panic if one of them is nil.
// Of several options of one kind the last one counts.
func Configure(fn string, opts ...Option) Config {
	CheckN(fn, 0, opts...)
	var c Config
	for _, o := range opts {
		o(&c)
	}
	return c
}

// CheckN panics, naming the function fn, unless n can be a parallelism, 0
// ([Inline]) to 1,048,576, and no option is nil.
func CheckN(fn string, n int, opts ...Option) {
	if n < 0 || n > maxN {
		argPanic(fn, "n is %d, want 0 (Inline) to %d", n, maxN)
	}
	for i, o := range opts {
		if o == nil {
			argPanic(fn, "option %d is nil", i)
		}
	}
}

// CheckFunc panics, naming the function fn and its argument, if isNil.
func CheckFunc(fn, arg string, isNil bool) {
	if isNil {
		argPanic(fn, "%s is nil", arg)
	}
}

// CheckSize panics, naming the function fn and its argument, unless v ≥ least.
func CheckSize(fn, arg string, v, least int) {
	if v < least {
		argPanic(fn, "%s is %s, want at least %d", arg, strconv.Itoa(v), least)
	}
}
