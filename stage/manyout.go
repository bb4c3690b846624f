package stage

import "fmt"

// Split sends each value to yes if pred is true for it, else to no, and each
// error to both. Both read one run of in, each at its own pace: when a branch
// holds [Window] items, 64 if not given, that its reader does not take, the
// other one waits too. A branch that the run does not read, or not any more, is
// passed over. Read both in one run with [Run], [Zip] or [Merge]; whatever
// reads one after the other, as [Concat] does, ends with [ErrStalled] once the
// second branch is full. A run that reads a branch twice runs in once more for
// that, as does each inner stream of a [FlatMap] that reads one. pred is called
// in the order of in, one call at a time, in a goroutine that both share.
func Split[T any, P Predicate[T]](in Stream[T], pred P, opts ...Option) (yes, no Stream[T]) {
	test := predicate[T]("stage.Split", pred)
	outs := fork("stage.Split", "split", in, []string{"yes", "no"}, opts, func(h *hub[T], item Try[T]) {
		i := 1
		if item.Error == nil {
			ok, err := test(h.sub.ctx, item.Value)
			if err != nil {
				item = Try[T]{Error: err}
			} else if ok {
				i = 0
			}
		}
		if item.Error != nil {
			h.all(item)
			return
		}
		h.push(h.branches[i], item)
	})
	return outs[0], outs[1]
}

// Partition sends each value to the branch that route says, 0 to k-1, and each
// error to all; see [Split]. Another number is an error in the item's place.
func Partition[T any, R Route[T]](in Stream[T], k int, r R, opts ...Option) []Stream[T] {
	CheckSize("stage.Partition", "k", k, 1)
	to := route[T]("stage.Partition", r)
	return fork("stage.Partition", "partition", in, numbered(k), opts, func(h *hub[T], item Try[T]) {
		i := 0
		if item.Error == nil {
			var err error
			if i, err = to(h.sub.ctx, item.Value); err == nil && (i < 0 || i >= k) {
				err = &stageError{h.name, fmt.Errorf("route is %d, want 0 to %d", i, k-1)}
			}
			if err != nil {
				item = Try[T]{Error: err}
			}
		}
		if item.Error != nil {
			h.all(item)
			return
		}
		h.push(h.branches[i], item)
	})
}

// Tee sends every item, errors too, to all of k branches; see [Split]. The
// branches see the same values, not copies: what one changes in memory that they
// share, all see.
func Tee[T any](in Stream[T], k int, opts ...Option) []Stream[T] {
	CheckSize("stage.Tee", "k", k, 1)
	return fork("stage.Tee", "tee", in, numbered(k), opts, func(h *hub[T], item Try[T]) { h.all(item) })
}

// Balance sends each item, errors too, to one of k branches: to the one whose
// reader has waited longest; see [Split].
func Balance[T any](in Stream[T], k int, opts ...Option) []Stream[T] {
	CheckSize("stage.Balance", "k", k, 1)
	return fork("stage.Balance", "balance", in, numbered(k), opts, (*hub[T]).longest)
}

// longest gives an item to the branch whose reader has waited longest, of
// those that have not got all they asked for.
func (h *hub[T]) longest(item Try[T]) {
	for {
		h.mu.Lock()
		var to *branch[T]
		for _, b := range h.branches {
			if b.hungry != 0 && b.len < b.room && b.read() && (to == nil || b.hungry < to.hungry) {
				to = b
			}
		}
		if to == nil {
			// The reader that asked has given up.
			for _, b := range h.branches {
				if b.read() && (to == nil || b.len < to.len) {
					to = b
				}
			}
		}
		h.mu.Unlock()
		if to == nil || h.push(to, item) {
			return
		}
	}
}
