package keyed

import (
	"context"
	"fmt"
	"sync"

	"github.com/seed95b73fdc/sluice/stage"
)

// Fence stands before a store and lets nobody write who has been superseded. It
// knows the highest epoch that it has seen of each partition, and refuses lower
// ones with ErrFenced. A lease alone does not protect a store: its holder may be
// stopped for longer than the lease lasts, by the operating system, say, between
// looking at the clock and writing. With a fence it may do so without harm.
//
// Two things have to hold:
//
//   - Check and write are one step. Do makes them one; a database does it with the
//     epoch in the condition of the update.
//   - An owner raises the fence before it reads what it is going to change, by Check
//     or by reading in Do. Else its predecessor may still write after that, and
//     that write is lost.
//
// A Fence belongs to the store, not to an owner: there is one for all. The zero
// Fence has seen nothing and is ready for use. After a restart it must see the
// epochs that are stored with the data, by Check, before it is used. It remembers
// one number for each partition. It must not be copied.
type Fence struct {
	_     noCopy
	mu    sync.Mutex // never held while a function runs
	parts map[string]*fencePart
}

// fencePart is what is known of a partition. Whoever has put a token into busy has
// the partition to itself, and epoch with it.
type fencePart struct {
	busy  chan struct{}
	epoch uint64
}

func (f *Fence) part(partition string) *fencePart {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.parts[partition]
	if p == nil {
		p = &fencePart{busy: make(chan struct{}, 1)}
		if f.parts == nil {
			f.parts = make(map[string]*fencePart)
		}
		f.parts[partition] = p
	}
	return p
}

// Check raises the fence of the partition to epoch, or returns ErrFenced if a
// higher one has been seen. Epoch 0 is that of no lease, and always refused. After
// Check has returned nil no write of a lower epoch is under way, and none will be
// let through. It blocks while a Do for the partition runs, or until ctx ends;
// then it returns [context.Cause].
func (f *Fence) Check(ctx context.Context, partition string, epoch uint64) error {
	return f.do(ctx, partition, epoch, func() error { return nil })
}

// Do calls write if Check would return nil, and returns its error. No other Do or
// Check of the partition comes between; those of other partitions do not wait. The
// fence stays raised if write fails.
func (f *Fence) Do(ctx context.Context, partition string, epoch uint64, write func() error) error {
	stage.CheckFunc("keyed.Fence.Do", "write", write == nil)
	return f.do(ctx, partition, epoch, write)
}

func (f *Fence) do(ctx context.Context, partition string, epoch uint64, write func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p := f.part(partition)
	select {
	case p.busy <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.busy }()
	if epoch == 0 || epoch < p.epoch {
		return fmt.Errorf("%w: %q has seen epoch %d, this is %d", ErrFenced, partition, p.epoch, epoch)
	}
	p.epoch = epoch
	return write()
}
