package keyed

import (
	"context"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// inlineProcess is a Process in the goroutine of whoever pulls: a stage of package
// stage around the states of the run.
func inlineProcess[A any, K comparable, S, B any](in stage.Stream[A], sp spec[A, K, S, B], opts []stage.Option) stage.Stream[B] {
	return stage.New(func(s *stage.Scope) stage.Reader[B] {
		p := &inlineStates[A, K, S, B]{spec: sp, scope: s, states: map[K]*inlineState[K, S]{}}
		p.ring.prev, p.ring.next = &p.ring, &p.ring
		f := stage.MapFunc("keyed.Process", p.item)
		p.Reader = stage.Open(s, stage.Transform("process", in, stage.Inline, stage.InOrder, f, opts...))
		return p
	})
}

type inlineStates[A any, K comparable, S, B any] struct {
	stage.Reader[B]
	spec[A, K, S, B]
	scope  *stage.Scope
	states map[K]*inlineState[K, S]
	ring   inlineState[K, S] // by their last item, latest first
}

type inlineState[K comparable, S any] struct {
	key        K
	value      S
	last       time.Duration
	prev, next *inlineState[K, S]
}

// Next parts with all states when the input has ended.
func (p *inlineStates[A, K, S, B]) Next(dst []stage.Try[B]) int {
	k := p.Reader.Next(dst)
	for k == 0 && len(p.states) > 0 && !p.scope.Stopped() {
		p.part(p.ring.prev)
	}
	return k
}

func (p *inlineStates[A, K, S, B]) item(ctx context.Context, a A) (b B, err error) {
	k := p.key(a)
	var at time.Duration
	if p.idleAfter > 0 {
		at = now()
		for len(p.states) > 0 && p.ring.prev.last <= at-p.idleAfter {
			p.part(p.ring.prev)
		}
	}
	st := p.states[k]
	if st == nil {
		if p.maxKeys > 0 && len(p.states) == p.maxKeys {
			p.part(p.ring.prev)
		}
		value, err := p.newS(ctx, k)
		if err != nil {
			return b, err
		}
		st = &inlineState[K, S]{key: k, value: value}
		p.states[k] = st
	} else {
		st.prev.next, st.next.prev = st.next, st.prev
	}
	st.last = at
	st.prev, st.next = &p.ring, p.ring.next
	st.next.prev = st
	p.ring.next = st
	return p.with(ctx, &st.value, a)
}

// part parts with a state.
func (p *inlineStates[A, K, S, B]) part(st *inlineState[K, S]) {
	st.prev.next, st.next.prev = st.next, st.prev
	delete(p.states, st.key)
	if p.bye != nil {
		p.bye(st.key, &st.value)
	}
}
