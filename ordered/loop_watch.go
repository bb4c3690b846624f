package ordered

import (
	"sync"
	"time"
)

// watch finds a call that hangs in its third receive: the tokens of its permit
// are used up. That is certain whenever it is looked at, so only how soon it is
// noticed is a matter of time. It looks a second after a call got the permission,
// and again after twice the time, a few times, and sleeps until the next one does.
type watch struct {
	mu     sync.Mutex
	timer  *time.Timer
	holder *permit
	passes uint64
	seen   uint64 // passes at the last look
	looks  int    // since then
	awake  bool
	over   bool
}

const (
	firstLook = time.Second
	mostLooks = 10 // the last one after some 17 minutes
)

// pass gives p the permission.
func (w *watch) pass(p *permit) {
	w.mu.Lock()
	w.holder = p
	w.passes++
	if !w.awake && !w.over {
		w.awake, w.looks = true, 0
		if w.timer == nil {
			w.timer = time.AfterFunc(firstLook, w.look)
		} else {
			w.timer.Reset(firstLook)
		}
	}
	w.mu.Unlock()
	p.give()
}

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	if w.seen != w.passes {
		w.seen, w.looks = w.passes, 0
	}
	p := w.holder
	p.mu.Lock()
	used := p.given && len(p.tokens) == 0
	p.mu.Unlock()
	if used {
		panic(twice)
	}
	if w.looks++; w.looks < mostLooks {
		w.timer.Reset(firstLook << w.looks)
	} else {
		w.awake = false
	}
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}
