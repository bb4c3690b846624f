package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"os"
	"sync"
)

// naive is the job with what everybody knows.
func naive(ctx context.Context, c config, events []*Event, path string) (done, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return done{}, err
	}
	var (
		queue    queue
		sem      = make(chan struct{}, c.workers)
		out      = bufio.NewWriterSize(file, 1<<16)
		outMu    sync.Mutex
		outErr   error
		finished sync.WaitGroup
	)
	queue.more.L = &queue.mu
	for range c.workers {
		finished.Go(func() {
			for {
				e, ok := queue.pop()
				if !ok {
					return
				}
				sem <- struct{}{}
				result := process(ctx, &e, c.work)
				outMu.Lock()
				if err := binary.Write(out, binary.LittleEndian, &result); err != nil && outErr == nil {
					outErr = err
				}
				outMu.Unlock()
				<-sem
			}
		})
	}
	for _, e := range events {
		if ctx.Err() != nil {
			break
		}
		queue.push(*e)
	}
	queue.close()
	finished.Wait()
	if outErr == nil {
		outErr = out.Flush()
	}
	if outErr == nil {
		outErr = context.Cause(ctx)
	}
	return done{0, file.Close}, outErr
}

// queue is a queue under a mutex, which holds up to queueSize events.
type queue struct {
	mu     sync.Mutex
	more   sync.Cond // or less
	q      []Event
	closed bool
}

const queueSize = 4096

func (q *queue) push(e Event) {
	q.mu.Lock()
	for len(q.q) == queueSize {
		q.more.Wait()
	}
	q.q = append(q.q, e)
	q.mu.Unlock()
	q.more.Signal()
}

func (q *queue) pop() (e Event, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.q) == 0 && !q.closed {
		q.more.Wait()
	}
	if len(q.q) == 0 {
		return e, false
	}
	e = q.q[0]
	q.q = q.q[1:]
	q.more.Broadcast()
	return e, true
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.more.Broadcast()
}
