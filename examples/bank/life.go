package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/keyed"
)

const (
	// statsEvery is how often the table gets new figures.
	statsEvery = 200 * time.Millisecond
	// knownPerLine is how many operations a message has at most.
	knownPerLine = 1000
	// resizeAfter is the part of its operations, one in so many, that a life carries out
	// with the owners that it has at first.
	resizeAfter = 8
)

// live is the process with the bank, from its start to its end, which is often a sudden
// one: it carries out the operations of the plan that are not in the database, and tells
// of them on w. It ends when the lifeline does; what was admitted is finished first.
func live(cfg config, lifeline io.Reader, w io.Writer) (code int) {
	out := newOutbox(w)
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, lifeline)
		cancel(program.ErrAborted)
	}()
	err := work(ctx, cancel, cfg, out)
	if err != nil && !errors.Is(err, program.ErrAborted) {
		out.send(message{Error: program.OneLine(err)})
		return program.Failed
	}
	if err == nil {
		out.send(message{Done: true})
		<-ended
	}
	return program.OK
}

func work(ctx context.Context, cancel context.CancelCauseFunc, cfg config, out *outbox) (err error) {
	s, err := openStore(context.Background(), cfg)
	if err != nil {
		return err
	}
	applied, left, err := tellKnown(s, cfg.plan, out)
	if err != nil {
		return errors.Join(err, s.close())
	}

	// The owners are doubled while clients are at work.
	var helpers sync.WaitGroup
	var toResize atomic.Int64
	toResize.Store(int64(max(1, left/resizeAfter)))
	resize, quit := make(chan struct{}), make(chan struct{})
	ack := func(number int, o outcome) {
		out.ack(number, o)
		if toResize.Add(-1) == 0 {
			close(resize) // and not done here: it waits for this very function
		}
	}
	b := newBank(cfg, s, ack, cancel)
	helpers.Go(func() { tellStats(b, out, quit) })
	helpers.Go(func() {
		select {
		case <-resize:
		case <-quit:
			return
		}
		switch err := b.owners.Resize(ctx, 2*cfg.owners); {
		case err == nil:
			out.send(message{Resized: 2 * cfg.owners})
		case !errors.Is(err, keyed.ErrClosed): // there was little to do
			cancel(err)
		}
	})

	var clients sync.WaitGroup
	for c := range cfg.clients {
		clients.Go(func() {
			if err := b.client(ctx, c, cfg.plan, applied); err != nil {
				cancel(err)
			}
		})
	}
	clients.Wait()
	closed := b.owners.Close(context.Background()) // finishes what came by mail
	close(quit)
	helpers.Wait()
	closed = errors.Join(closed, b.close())
	out.flush()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return closed
}

// client carries out the operations of one client that have not been, in the order of
// their numbers.
func (b *bank) client(ctx context.Context, c int, p plan, applied []bool) error {
	for number := c; number < p.operations && ctx.Err() == nil; number += p.clients {
		if applied[number] {
			continue
		}
		if err := b.carryOut(ctx, p.operation(number)); err != nil {
			return err
		}
	}
	return nil
}

// tellKnown tells which operations are in the database, and how many are not.
func tellKnown(s *store, p plan, out *outbox) (applied []bool, left int, err error) {
	applied, left = make([]bool, p.operations), p.operations
	var known []int
	err = s.applied(context.Background(), func(number int, o outcome) {
		if number < 0 || number >= p.operations {
			return // what it is doing there, the check will ask
		}
		applied[number] = true
		left--
		if known = append(known, coded(number, o)); len(known) == knownPerLine {
			out.send(message{Known: known})
			known = nil
		}
	})
	if err == nil {
		out.send(message{Known: known, Left: &left})
	}
	return applied, left, err
}

// tellStats sends figures until quit is closed.
func tellStats(b *bank, out *outbox, quit <-chan struct{}) {
	tick := time.NewTicker(statsEvery)
	defer tick.Stop()
	var epoch uint64
	before, at := map[int]uint64{}, time.Now()
	for {
		select {
		case <-quit:
			return
		case now := <-tick.C:
			s := b.owners.Stats()
			if s.Epoch != epoch {
				epoch = s.Epoch
				clear(before)
			}
			m := stats{Owners: s.N, Epoch: s.Epoch, Admitted: s.Admitted, Window: s.Window, Atomically: s.AtomicallyShare}
			if n := b.flushes.Load(); n > 0 {
				m.PerCommit = float64(s.Done) / float64(n)
			}
			for i, l := range s.Lanes {
				if l.Keys > 0 {
					m.Lanes = append(m.Lanes, laneRate{i, l.Keys, l.Depth, float64(l.Done-before[i]) / now.Sub(at).Seconds(), l.Wait})
				}
				before[i] = l.Done
			}
			at = now
			slices.SortStableFunc(m.Lanes, func(x, y laneRate) int { return int(y.Rate - x.Rate) })
			m.Lanes = m.Lanes[:min(len(m.Lanes), shownLanes)]
			for _, k := range s.Hottest[:min(len(s.Hottest), shownAccounts)] {
				m.Hottest = append(m.Hottest, hot{k.Key, k.Lane, k.Share, money(b.balance[k.Key].Load())})
			}
			out.send(message{Stats: &m})
		}
	}
}
