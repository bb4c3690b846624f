package main

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/seed95b73fdc/sluice/backpressure"
	"github.com/seed95b73fdc/sluice/lockfree"
)

const (
	ringSize = 1024
	inFlight = 8192 // events that have been taken and not written
)

// lockFree is the job with lock-free parts, put together the classic way. It is
// work-conserving and quick, and it does not keep the order of a key: an event is
// popped from the end of a deque that was filled last, or stolen from the other
// one.
func lockFree(ctx context.Context, c config, events []*Event, path string) (done, error) {
	store, err := createStore(path, len(events))
	if err != nil {
		return done{}, err
	}
	p := &pool{ctx: ctx, c: c, store: store, sem: backpressure.NewPadded(inFlight)}
	for range c.workers {
		p.rings = append(p.rings, lockfree.NewSPSC[*Event](ringSize))
		p.deques = append(p.deques, lockfree.NewDeque[*Event](ringSize))
	}
	var finished sync.WaitGroup
	for i := range c.workers {
		finished.Go(func() { p.work(i) })
	}
	err = p.demux(ctx, events)
	for _, ring := range p.rings {
		ring.Close()
	}
	finished.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	return done{p.steals.Load(), store.close}, err
}

type pool struct {
	ctx    context.Context
	c      config
	store  *store
	sem    *backpressure.PaddedSemaphore
	rings  []*lockfree.SPSC[*Event]
	deques []*lockfree.Deque[*Event]
	steals atomic.Uint64
}

// demux sends each event to the ring that the hash of its key says.
func (p *pool) demux(ctx context.Context, events []*Event) error {
	for _, e := range events {
		if err := p.sem.Acquire(ctx, 1); err != nil {
			return err
		}
		ring := p.rings[int(hash(e.Key)%uint64(len(p.rings)))]
		for !ring.TryPush(e) {
			runtime.Gosched()
		}
	}
	return nil
}

func hash(key uint32) uint64 { return (uint64(key) + 1) * 0x9E3779B97F4A7C15 >> 17 }

// work moves what is in the worker's ring to its deque, and takes from there, or
// from somebody else's.
func (p *pool) work(me int) {
	ring, own := p.rings[me], p.deques[me]
	var buf [64]*Event
	for idle := 0; ; {
		closed := ring.Closed()
		k := ring.Pop(buf[:])
		for _, e := range buf[:k] {
			own.Push(e)
		}
		did := p.drain(own)
		if !did && k == 0 {
			if e, ok := p.steal(me); ok {
				p.one(e)
				did = true
			}
		}
		if did {
			idle = 0
			continue
		}
		if k == 0 && closed {
			return // what others have left, they do themselves
		}
		if idle++; idle > 2 {
			runtime.Gosched()
		}
	}
}

func (p *pool) drain(own *lockfree.Deque[*Event]) (did bool) {
	for {
		e, ok := own.Pop()
		if !ok {
			return did
		}
		p.one(e)
		did = true
	}
}

// steal takes a single event of another worker.
func (p *pool) steal(me int) (*Event, bool) {
	for i := 1; i < len(p.deques); i++ {
		victim := p.deques[(me+i)%len(p.deques)]
		for {
			e, outcome := victim.Steal()
			if outcome == lockfree.Success {
				p.steals.Add(1)
				return e, true
			}
			if outcome == lockfree.Empty {
				break
			}
		}
	}
	return nil, false
}

func (p *pool) one(e *Event) {
	p.store.put(process(p.ctx, e, p.c.work))
	p.sem.Release(1)
}
