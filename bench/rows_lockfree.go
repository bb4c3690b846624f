package main

import (
	"context"
	"runtime"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/seed95b73fdc/sluice/backpressure"
	"github.com/seed95b73fdc/sluice/bench/internal/measure"
	"github.com/seed95b73fdc/sluice/lockfree"
)

// ringSize is the capacity of every queue of these rows.
const ringSize = 1024

// ringChunk is how many items are moved at a time where chunks are.
const ringChunk = 64

// lockfreeRows: what does it cost to hand an int from one goroutine to another?
func lockfreeRows(c config) measure.Group {
	const oneByOne, chunked, noSlower = 30, 8, 1
	single, chunks, waiting := "one by one", "chunks of 64", "one by one, waiting"
	items := upTo(c.items)
	row := func(name, subject string, entries ...entry) measure.Row {
		return job{items: items, n: 1}.row(name, subject, entries...)
	}
	return measure.Group{
		Key:   "spsc",
		Title: "From one goroutine to another",
		Job: "A producer hands ints through a queue of 1,024 to a consumer that checks their order. " +
			"In the first two rows who finds a queue without a wait of its own full or empty yields and tries again, the same for all of them; " +
			"a channel waits as channels do. In the third, all of them wait by themselves.",
		Drawn: []string{single, chunks, waiting},
		Rows: []measure.Row{
			row(single, spscSingle.name, spscSingle, xsyncSingle, chanSingle),
			row(chunks, spscChunks.name, spscChunks, chanOfChunks),
			row(waiting, conduitRing.name, conduitRing, conduitChan, chanSingle),
		},
		Targets: []measure.Target{
			measure.NanosAtMost(single, spscSingle.name, oneByOne),
			measure.FasterThan(single, spscSingle.name, xsyncSingle.name, noSlower),
			measure.NanosAtMost(chunks, spscChunks.name, chunked),
		},
	}
}

var (
	spscSingle   = entry{"sluice lockfree.SPSC", runSPSC, inOrder}
	xsyncSingle  = entry{"xsync.SPSCQueue", runXsync, inOrder}
	chanSingle   = entry{"channel(1024)", runBuffered, inOrder}
	spscChunks   = entry{"sluice lockfree.SPSC", runSPSCChunks, inOrder}
	chanOfChunks = entry{"channel of []int", runChunkChannel, inOrder}
	conduitRing  = entry{"sluice backpressure.Ring", runConduit(backpressure.Ring), inOrder}
	conduitChan  = entry{"sluice backpressure.Chan", runConduit(backpressure.Chan), inOrder}
)

// trial moves the items one by one through a queue that does not wait.
func trial(j job, put func(int) bool, get func() (int, bool), take func(int)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, v := range j.items {
			for !put(v) {
				runtime.Gosched()
			}
		}
	}()
	for range j.items {
		v, ok := get()
		for !ok {
			runtime.Gosched()
			v, ok = get()
		}
		take(v)
	}
	<-done
}

func runSPSC(_ context.Context, j job, take func(int)) error {
	q := lockfree.NewSPSC[int](ringSize)
	trial(j, q.TryPush, q.TryPop, take)
	return nil
}

func runXsync(_ context.Context, j job, take func(int)) error {
	q := xsync.NewSPSCQueue[int](ringSize)
	trial(j, q.TryEnqueue, q.TryDequeue, take)
	return nil
}

func runBuffered(_ context.Context, j job, take func(int)) error {
	ch := make(chan int, ringSize)
	go func() {
		defer close(ch)
		for _, v := range j.items {
			ch <- v
		}
	}()
	for v := range ch {
		take(v)
	}
	return nil
}

func runSPSCChunks(_ context.Context, j job, take func(int)) error {
	q := lockfree.NewSPSC[int](ringSize)
	go func() {
		for rest := j.items; len(rest) > 0; {
			n := q.Push(rest[:min(ringChunk, len(rest))])
			if rest = rest[n:]; n == 0 {
				runtime.Gosched()
			}
		}
	}()
	var chunk [ringChunk]int
	for got := 0; got < len(j.items); {
		n := q.Pop(chunk[:])
		if got += n; n == 0 {
			runtime.Gosched()
		}
		for _, v := range chunk[:n] {
			take(v)
		}
	}
	return nil
}

// runChunkChannel sends slices of the items, so nothing is copied or allocated.
func runChunkChannel(_ context.Context, j job, take func(int)) error {
	ch := make(chan []int, ringSize/ringChunk)
	go func() {
		defer close(ch)
		for rest := j.items; len(rest) > 0; {
			n := min(ringChunk, len(rest))
			ch <- rest[:n]
			rest = rest[n:]
		}
	}()
	for chunk := range ch {
		for _, v := range chunk {
			take(v)
		}
	}
	return nil
}

// runConduit sends the items one by one; the receiver takes what is there.
func runConduit(transport backpressure.Transport) way {
	return func(ctx context.Context, j job, take func(int)) error {
		c := backpressure.NewConduit[int](transport, ringSize)
		failed := make(chan error, 1)
		go func() {
			defer c.Close()
			for i := range j.items {
				if _, err := c.Send(ctx, j.items[i:i+1]); err != nil {
					failed <- err
					return
				}
			}
		}()
		var chunk [ringChunk]int
		for {
			n, err := c.Recv(ctx, chunk[:])
			if err != nil {
				break
			}
			for _, v := range chunk[:n] {
				take(v)
			}
		}
		select {
		case err := <-failed:
			return err
		default:
			return nil
		}
	}
}
