// Package retry has an item of a stream tried again in its place.
//
// A retry that puts a failed item back into the input, behind the others, loses
// the order. Here the retry happens inside the call: [With] wraps the function of
// a stage into policies of failsafe-go, and to the stage it is one call that takes
// longer.
//
//	policy := retrypolicy.NewBuilder[Page]().
//		WithMaxRetries(4).WithBackoff(100*time.Millisecond, 5*time.Second).Build()
//	pages := ordered.Map(urls, 8, retry.With(fetch, policy))
//
// While an item pauses before its next attempt it occupies one of the n calls and
// one slot of the window. The items behind it go on, up to the window, and come
// out after it; a larger stage.Window lets them run further ahead. If all
// attempts fail, the error stands in the place of the item. When the run ends,
// the pause ends at once. What stage.Until stops is still finished, retries
// included.
package retry

import (
	"context"

	"github.com/failsafe-go/failsafe-go"
)

// With returns f under the policies, the first one outermost, for a stage.Map or
// ordered.Map. The attempts of one call of the function run one after the other,
// in the goroutine of that call, as long as the policies start none (a retry
// policy does not); f is given the context of its attempt. Any number of calls
// may run at once, since policies such as retrypolicy.RetryPolicy may be shared.
//
// It returns what the policies make of f's results. When they give up because ctx
// is done, that is the zero value and context.Cause(ctx); a retry policy does so
// also when the attempt that was under way succeeds. A nil f panics.
func With[A, B any](f func(context.Context, A) (B, error), policies ...failsafe.Policy[B]) func(context.Context, A) (B, error) {
	if f == nil {
		panic("retry.With: f is nil")
	}
	executor := failsafe.With(policies...)
	return func(ctx context.Context, a A) (B, error) {
		b, err := executor.WithContext(ctx).GetWithExecution(func(attempt failsafe.Execution[B]) (B, error) {
			return f(attempt.Context(), a)
		})
		if err != nil && ctx.Err() != nil {
			// failsafe-go knows that the context has ended, not why.
			return *new(B), context.Cause(ctx)
		}
		return b, err
	}
}
