package ordered

import "github.com/seed95b73fdc/sluice/stage"

// outlet is where the one whose turn it is puts its results, and the reader takes
// them: the output channel of the strategies in which workers take turns. It
// holds no more than the window, for a place that has not been passed is held; and
// of a stream no more than the reader asks for.
type outlet[B any] struct {
	*desk
	ring    []entry[B] // size of them are there, from head on
	head    int
	size    int
	skipped int           // places that have ended before what is there
	chunks  bool          // places have streams, of any length
	writer  *stage.Waiter // waits until what is there has been taken
}

type entry[B any] struct {
	item stage.Try[B]
	ends int // places that end with it
}

// put puts items there; last says that their place ends. It is called by whoever's
// turn it is. It blocks while there is no room, which is possible only for
// streams; false means that the stage is closed. Under mu, which it gives up
// meanwhile.
func (o *outlet[B]) put(w *stage.Waiter, items []stage.Try[B], last bool) bool {
	for o.chunks && o.size > 0 && o.size+len(items) > o.room {
		o.writer = w
		w.Arm()
		o.mu.Unlock()
		ok := w.Park()
		o.mu.Lock()
		o.writer = nil
		if !ok {
			return false
		}
	}
	for _, item := range items {
		if o.size == len(o.ring) {
			o.grow()
		}
		o.ring[(o.head+o.size)%len(o.ring)] = entry[B]{item: item}
		o.size++
	}
	if last && o.size > 0 {
		o.ring[(o.head+o.size-1)%len(o.ring)].ends++
	} else if last {
		o.skipped++
	}
	o.feed()
	return true
}

func (o *outlet[B]) grow() {
	ring := make([]entry[B], max(4, 2*len(o.ring)))
	k := copy(ring, o.ring[o.head:])
	copy(ring[k:], o.ring[:o.head])
	o.ring, o.head = ring, 0
}

func (o *outlet[B]) take(dst []stage.Try[B]) (k, passed int) {
	passed, o.skipped = o.skipped, 0
	for ; k < len(dst) && o.size > 0; k++ {
		e := &o.ring[o.head]
		dst[k] = e.item
		passed += e.ends
		*e = entry[B]{}
		o.head = (o.head + 1) % len(o.ring)
		o.size--
	}
	if o.writer != nil && o.size == 0 {
		o.writer.Wake()
		o.writer = nil
	}
	return k, passed
}

func (o *outlet[B]) forget() { o.ring, o.head, o.size, o.skipped = nil, 0, 0, 0 }
