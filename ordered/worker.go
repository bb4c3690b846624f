package ordered

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// worker is a goroutine of a line. Its fields belong to it, but for parked and
// called, which are under mu.
type worker[A, B any] struct {
	line    *line[A, B]
	wait    *stage.Waiter
	at      ticket[B]
	in      [1]stage.Try[A]
	out     [1]stage.Try[B]
	calling bool // in f
	parked  bool // in idle
	called  bool // by rouse
	began   time.Time

	// FlatMap's.
	stream stage.Reader[B]
	inner  *stage.Scope
	chunk  []stage.Try[B]
}

// live is the life of a worker. Where f has cost the one before its goroutine, it
// goes on with what f was called for.
func (w *worker[A, B]) live() {
	l := w.line
	ok := true
	if w.calling {
		w.calling = false
		ok = w.finish(true)
	}
	for ok && l.pull(w) && !l.sub.Stopped() {
		if l.flat != nil {
			ok = w.pass()
		} else {
			w.calling = true
			keep := l.f.Call(l.ctx, &w.in[0], &w.out[0])
			w.calling = false
			ok = w.finish(keep)
		}
	}
	l.retire(w)
}

// lost is called when f, or upstream's Next, has not returned: with the panic, or
// nil after runtime.Goexit. It reports whether it is no more than the item that is
// lost.
func (w *worker[A, B]) lost(p *stage.Panic) (settled bool) {
	l := w.line
	if !w.calling || p != nil && !l.recovers {
		l.retire(w)
		return false
	}
	err := stage.Goexit(l.name)
	if p != nil {
		err = p
	}
	w.out[0] = stage.Try[B]{Error: err}
	l.sub.GoElse(l.name, w.live, w.lost)
	return true
}

// pull takes an item from upstream for w. It blocks until one may be taken and is
// there; false means that there will be none.
//
// There is no defer of Unlock: upstream's Next may panic, with mu free.
func (l *line[A, B]) pull(w *worker[A, B]) bool {
	l.mu.Lock()
	for {
		if w.called {
			w.called, l.coming = false, false
		}
		if l.ended || l.sub.Stopped() {
			l.mu.Unlock()
			return false
		}
		if l.may() {
			break
		}
		l.blocked()
		if !w.parked {
			w.parked = true
			l.idle = append(l.idle, w)
		}
		w.wait.Arm()
		l.mu.Unlock()
		w.wait.Park()
		l.mu.Lock()
	}
	l.pulling, l.asking = true, true
	l.held++
	l.calls++
	if !l.full.IsZero() {
		l.stat.Blocked += time.Since(l.full)
		l.full = time.Time{}
	}
	l.mu.Unlock()

	asked := l.now()
	got := l.up.Next(w.in[:])
	w.began = l.now()

	l.mu.Lock()
	defer l.mu.Unlock()
	l.stat.Starved += w.began.Sub(asked)
	l.pulling, l.asking = false, false
	if got == 0 {
		l.ended = true
		l.held--
		l.calls--
		if l.held == 0 {
			l.feed()
		}
		return false
	}
	l.stat.In++
	l.way.enter(&w.at)
	l.rouse()
	return true
}

// now is the time, if somebody wants to know.
func (l *line[A, B]) now() (t time.Time) {
	if l.counted {
		t = time.Now()
	}
	return t
}

// finish brings what f made of the item, if anything, to the reader; false means
// that the stage is closed.
func (w *worker[A, B]) finish(keep bool) bool {
	w.in[0] = stage.Try[A]{}
	out := w.out[:0]
	if keep {
		out = w.out[:1]
	}
	return w.last(out)
}

// last puts what is the end of the item. A worker that has to wait for its turn
// makes way for another call first.
func (w *worker[A, B]) last(out []stage.Try[B]) bool {
	l := w.line
	if l.waits {
		l.done(w)
	}
	ok := l.way.put(&w.at, w.wait, out, true)
	clear(out)
	if !l.waits {
		l.done(w)
	}
	return ok
}

// done ends w's call.
func (l *line[A, B]) done(w *worker[A, B]) {
	took := l.now().Sub(w.began)
	l.mu.Lock()
	l.stat.Busy += took
	l.calls--
	l.rouse()
	l.mu.Unlock()
}

// pass brings the stream that f makes of the item to the reader; false means that
// the stage is closed. A worker stays with its stream to the end.
func (w *worker[A, B]) pass() bool {
	l, a := w.line, w.in[0]
	w.in[0] = stage.Try[A]{}
	if a.Error != nil {
		w.out[0] = stage.Try[B]{Error: a.Error}
		return w.last(w.out[:])
	}
	w.inner = l.sub.Nested()
	w.stream = stage.Open(w.inner, w.make(labelled(w.inner.Context(), l.name), a.Value))
	for {
		chunk := w.room()
		k := w.stream.Next(chunk)
		if k == 0 && l.sub.Stopped() {
			w.shut()
			return false
		}
		if k == 0 {
			w.shut()
			return w.last(nil)
		}
		began := l.now()
		ok := l.way.put(&w.at, w.wait, chunk[:k], false)
		clear(chunk[:k])
		w.waited(began)
		if !ok {
			w.shut()
			return false
		}
	}
}

// make calls f.
func (w *worker[A, B]) make(ctx context.Context, v A) (s stage.Stream[B]) {
	if w.line.recovers {
		defer func() {
			if v := recover(); v != nil {
				s = stage.Failed[B](&stage.Panic{Stage: w.line.name, Value: v, Stack: debug.Stack()})
			}
		}()
	}
	return w.line.flat(ctx, v)
}

// shut closes the stream that is open.
func (w *worker[A, B]) shut() {
	w.stream.Close()
	w.inner.Cancel(stage.ErrEnded)
	w.stream, w.inner = nil, nil
}

// room is where the next items of a stream go: as many as the reader asks for.
func (w *worker[A, B]) room() []stage.Try[B] {
	w.line.mu.Lock()
	room := w.line.room
	w.line.mu.Unlock()
	if len(w.chunk) < room {
		w.chunk = make([]stage.Try[B], room)
	}
	return w.chunk[:room]
}

// waited books the time since began as one in which the worker was kept from its
// stream.
func (w *worker[A, B]) waited(began time.Time) {
	l := w.line
	if !l.counted {
		return
	}
	d := time.Since(began)
	l.mu.Lock()
	l.stat.Blocked += d
	l.stat.Busy -= d
	l.mu.Unlock()
}
