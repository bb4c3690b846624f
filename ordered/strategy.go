package ordered

import (
	"context"
	"fmt"

	"github.com/seed95b73fdc/sluice/stage"
)

// Strategy is a way in which results that are done in any order come out in
// order; see [By].
type Strategy int

const (
	// Cells is the default: a ring of cells that are at once the places of the
	// items, of their results, and of those that wait. No worker waits for its
	// turn, and a cheap f shares a cell, and the cost of handing it over, among
	// up to 64 items. It is the engine of package stage.
	Cells Strategy = iota
	// PermissionPassing hands a permission from item to item: whoever has it
	// writes, and gives it to the next one. A worker whose result is done early
	// waits for it. Permissions are pooled, so nothing is allocated per item.
	PermissionPassing
	// ReplyTo makes an envelope for each item, into which its result is put, and
	// lets the reader open the envelopes in order. No worker waits for its turn;
	// each item costs an allocation.
	ReplyTo
	// Cond is a counter that says whose turn it is, and a condition variable on
	// which all workers wait whose turn it is not. Each item wakes all of them.
	Cond

	strategies
)

// String returns the name of the strategy.
func (s Strategy) String() string {
	switch s {
	case Cells:
		return "Cells"
	case PermissionPassing:
		return "PermissionPassing"
	case ReplyTo:
		return "ReplyTo"
	case Cond:
		return "Cond"
	}
	return fmt.Sprintf("Strategy(%d)", int(s))
}

type strategyKey struct{}

// By chooses how a function of this package keeps the order; without it that is
// [Cells]. All strategies keep the same promises; the documentation of the
// package says what they cost. Functions of other packages ignore it, and with
// [stage.Inline] nothing needs to be put in order. A strategy that does not
// exist panics.
func By(s Strategy) stage.Option {
	if s < 0 || s >= strategies {
		panic(fmt.Sprintf("ordered.By: there is no %v", s))
	}
	return stage.With(strategyKey{}, s)
}

func strategyOf(c stage.Config) Strategy {
	s, _ := c.Value(strategyKey{}).(Strategy)
	return s
}

// transform is every stage of this package that makes at most one item of each.
func transform[A, B any](fn, operator string, in stage.Stream[A], n int, f stage.Func[A, B], opts []stage.Option) stage.Stream[B] {
	c := stage.Configure(fn, opts...)
	s := strategyOf(c)
	if s == Cells || n == stage.Inline {
		return stage.Transform(operator, in, n, stage.InOrder, f, opts...)
	}
	return newLine(s, operator, in, n, c, f, nil)
}

// flatMap is FlatMap.
func flatMap[A, B any](fn string, in stage.Stream[A], n int, f func(context.Context, A) stage.Stream[B], opts []stage.Option) stage.Stream[B] {
	stage.CheckN(fn, n, opts...)
	stage.CheckFunc(fn, "f", f == nil)
	c := stage.Configure(fn, opts...)
	s := strategyOf(c)
	if s == Cells || n == stage.Inline {
		return stage.FlatMapOrder(fn, in, n, stage.InOrder, f, opts...)
	}
	return newLine(s, "flatmap", in, n, c, stage.Func[A, B]{}, f)
}
