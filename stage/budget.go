package stage

import (
	"context"
	"errors"

	"github.com/seed95b73fdc/sluice/backpressure"
)

// Loan is a value with its part of a [backpressure.Budget]. It may be copied;
// all copies stand for the same part.
type Loan[T any] struct {
	Value T
	held  backpressure.Held
}

// Release gives the loan's part of the budget back. Only the first call does
// that and reports true. [Borrowed], [BorrowedFilter], [Repaid] and [RepaidEach] call it where
// an item ends; it is for functions that end it in a way of their own. Never
// blocks.
func (l Loan[T]) Release() bool { return l.held.Release() }

func (l Loan[T]) part() backpressure.Held { return l.held }

// lost is what becomes of a value that an operator drops and nobody will see again: if it
// is a loan its part of the budget is given back. kept is what goes on in its place, and
// may stand for the same part.
func lost[T any](gone, kept T) {
	var zero T
	if _, lent := any(zero).(interface{ part() backpressure.Held }); !lent {
		return
	}
	part := any(gone).(interface{ part() backpressure.Held }).part()
	if part != any(kept).(interface{ part() backpressure.Held }).part() {
		part.Release()
	}
}

// Charge passes each value on as a [Loan], once its weight has been taken from
// the budget: so what is between here and where the loans are repaid weighs no
// more than the budget in all, over any number of stages, and of runs, that
// share it. It pushes back while there is not enough; a value that weighs more
// than the whole budget passes alone. Values pass in their order, so a light one
// waits behind a heavy one.
//
// Between, stages work on loans: a function that is given to them is wrapped by
// [Borrowed] or [BorrowedFilter], and the last one by [Repaid] or [RepaidEach]. Each gives the
// weight back where the item ends: at an error, a panic, when it is filtered
// out, at the end; so do [Buffer], [Debounce] and [Sample] for what they drop or merge
// away, after [OnDrop]. And when the run ends, or downstream needs no more, whatever
// is still on loan is given back, wherever it lies. Of a stream that ends before
// its run, as an input of [Concat], [Merge] or [FlatMap], loans go on; but not if these
// read it through a [Take] that needs no more, or through a stage with goroutines of
// its own, whose end is not told from that: charge behind them then.
//
// It runs in the goroutine of whoever pulls, and holds one item, which has not
// got its weight yet. Errors pass without a weight; a negative weight is an error
// in the item's place, which wraps [backpressure.ErrWeight]. A wait for a budget
// is never taken for a stall, for others may use that too: so a run in which
// every loan waits behind another one's repayment waits until its context ends.
func Charge[T any](in Stream[T], b *backpressure.Budget, weight func(T) int, opts ...Option) Stream[Loan[T]] {
	const fn = "stage.Charge"
	CheckFunc(fn, "b", b == nil)
	CheckFunc(fn, "weight", weight == nil)
	c := Configure(fn, opts...)
	return New(func(s *Scope) Reader[Loan[T]] {
		up := Open(s, in)
		r := &charge[T]{scope: s, up: up, name: s.Label(c.Name, "charge"), weight: weight, account: b.Open()}
		r.wait = s.NewWaiter(r.name, func() string { return "waits for a budget" })
		return r
	})
}

type charge[T any] struct {
	scope   *Scope
	up      Reader[T]
	name    string
	weight  func(T) int
	account *backpressure.Account
	wait    *Waiter
	ended   bool // in has ended
	shut    bool
}

func (r *charge[T]) Next(dst []Try[Loan[T]]) int {
	var one [1]Try[T]
	if r.shut {
		return 0
	}
	if r.up.Next(one[:]) == 0 {
		r.ended = true
		return 0
	}
	item := one[0]
	if item.Error != nil {
		dst[0] = Try[Loan[T]]{Error: item.Error}
		return 1
	}
	if r.scope.Stopped() {
		return 0
	}
	held, err := r.take(r.weigh(item.Value))
	switch {
	case err == nil:
		dst[0] = Try[Loan[T]]{Value: Loan[T]{item.Value, held}}
	case errors.Is(err, backpressure.ErrWeight):
		dst[0] = Try[Loan[T]]{Error: &stageError{r.name, err}}
	default:
		return 0 // the run has ended
	}
	return 1
}

func (r *charge[T]) weigh(v T) int {
	defer Tag(r.name)
	return r.weight(v)
}

// take blocks until the account has got the weight.
func (r *charge[T]) take(weight int) (backpressure.Held, error) {
	if held, ok := r.account.TryAcquire(weight); ok {
		return held, nil
	}
	claim, err := r.account.Ask(weight, r.wait.Wake)
	if err != nil {
		return backpressure.Held{}, err
	}
	for {
		r.wait.Arm()
		if held, ok, err := claim.Granted(); ok || err != nil {
			r.wait.Disarm()
			return held, err
		}
		// With no timer: whom it waits for may be outside of the run.
		if woken, _ := r.wait.ParkUntil(nil); !woken {
			claim.Cancel()
			return backpressure.Held{}, r.scope.cause()
		}
	}
}

func (r *charge[T]) Close() {
	if !r.shut {
		r.shut = true
		r.wait.Free()
	}
	r.up.Close()
	if r.ended && !r.scope.Stopped() {
		r.leave()
		return
	}
	r.account.Close()
}

// leave leaves the loans to those who have them: the stream has ended, and was not
// cancelled, so that all of them have gone downstream. What has not been repaid when the
// run ends is given back then.
func (r *charge[T]) leave() {
	root := r.scope.run.root
	repaid := root.NewWaiter(r.name, func() string { return "" })
	repaid.Arm()
	if !r.account.WhenReturned(repaid.Wake) {
		repaid.Disarm()
		repaid.Free()
		return
	}
	root.Go(r.name, func() {
		defer r.account.Close()
		defer repaid.Free()
		repaid.Park()
	})
}

// Borrowed makes of f a function on loans, for a [Map] between [Charge] and
// [Repaid]: the result is on loan for the value that it was made of. If f returns
// an error, panics, or ends its goroutine, the weight is given back.
func Borrowed[A, B any](f func(context.Context, A) (B, error)) func(context.Context, Loan[A]) (Loan[B], error) {
	CheckFunc("stage.Borrowed", "f", f == nil)
	return func(ctx context.Context, a Loan[A]) (Loan[B], error) {
		kept := false
		defer func() {
			if !kept {
				a.Release()
			}
		}()
		b, err := f(ctx, a.Value)
		if err != nil {
			return Loan[B]{}, err
		}
		kept = true
		return Loan[B]{b, a.held}, nil
	}
}

// BorrowedFilter makes of f a function on loans, for a [Filter]: the weight is
// given back unless f keeps the value.
func BorrowedFilter[A any](f func(context.Context, A) (bool, error)) func(context.Context, Loan[A]) (bool, error) {
	CheckFunc("stage.BorrowedFilter", "f", f == nil)
	return func(ctx context.Context, a Loan[A]) (bool, error) {
		kept := false
		defer func() {
			if !kept {
				a.Release()
			}
		}()
		keep, err := f(ctx, a.Value)
		kept = keep && err == nil
		return kept, err
	}
}

// Repaid makes of f the last function on loans, for a [Map], after which the
// results have no weight any more: it is given back when f has ended, in whatever
// way. [RepaidEach] is the same for a [ForEach].
func Repaid[A, B any](f func(context.Context, A) (B, error)) func(context.Context, Loan[A]) (B, error) {
	CheckFunc("stage.Repaid", "f", f == nil)
	return func(ctx context.Context, a Loan[A]) (B, error) {
		defer a.Release()
		return f(ctx, a.Value)
	}
}

// RepaidEach makes of f the function of a [ForEach] on loans: the weight is
// given back when f has ended, in whatever way.
func RepaidEach[A any](f func(context.Context, A) error) func(context.Context, Loan[A]) error {
	CheckFunc("stage.RepaidEach", "f", f == nil)
	return func(ctx context.Context, a Loan[A]) error {
		defer a.Release()
		return f(ctx, a.Value)
	}
}
