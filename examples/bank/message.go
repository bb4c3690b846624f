package main

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// A message is a line that the process with the bank writes to the one that looks after
// it. An operation is given by its number, one that was refused by ^number.
type message struct {
	Known []int  `json:"known,omitempty"` // operations that were in the database at the start
	Left  *int   `json:"left,omitempty"`  // how many are not: now it begins
	Acks  []int  `json:"acks,omitempty"`  // operations that are in the database now
	Stats *stats `json:"stats,omitempty"`
	Done  bool   `json:"done,omitempty"` // none is left
	Error string `json:"error,omitempty"`

	Resized int `json:"resized,omitempty"` // how many owners there are now
}

func coded(number int, o outcome) int {
	if o == refused {
		return ^number
	}
	return number
}

func decoded(code int) (number int, o outcome) {
	if code < 0 {
		return ^code, refused
	}
	return code, done
}

// stats are for the table.
type stats struct {
	Owners     int        `json:"owners"`
	Epoch      uint64     `json:"epoch"`
	Admitted   int        `json:"admitted"`
	Window     int        `json:"window"`
	Atomically float64    `json:"atomically"` // their share
	PerCommit  float64    `json:"perCommit"`  // operations
	Lanes      []laneRate `json:"lanes"`      // the busiest first
	Hottest    []hot      `json:"hottest"`
}

type laneRate struct {
	Lane  int           `json:"lane"`
	Keys  int           `json:"keys"`
	Depth int           `json:"depth"`
	Rate  float64       `json:"rate"` // operations a second
	Wait  time.Duration `json:"wait"`
}

type hot struct {
	Account int     `json:"account"`
	Lane    int     `json:"lane"`
	Share   float64 `json:"share"`
	Balance money   `json:"balance"`
}

// An outbox writes acknowledgements, as many at a time as there are, so that no owner
// waits for the pipe. Nobody waits under mu.
type outbox struct {
	w     sync.Mutex // a line at a time
	enc   *json.Encoder
	mu    sync.Mutex
	acks  []int
	begun bool          // the writer is awake, or about to be
	idle  chan struct{} // has a value while it is not
}

func newOutbox(w io.Writer) *outbox {
	o := &outbox{enc: json.NewEncoder(w), idle: make(chan struct{}, 1)}
	o.idle <- struct{}{}
	return o
}

// send writes a message. An error means that nobody reads any more: then this process is
// about to end.
func (o *outbox) send(m message) {
	o.w.Lock()
	defer o.w.Unlock()
	_ = o.enc.Encode(m)
}

// ack has an acknowledgement written. Never blocks.
func (o *outbox) ack(number int, out outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.acks = append(o.acks, coded(number, out))
	if !o.begun {
		o.begun = true
		go o.write()
	}
}

// write writes what there is, and ends when there is no more.
func (o *outbox) write() {
	<-o.idle
	for {
		o.mu.Lock()
		acks := o.acks
		o.acks = nil
		if len(acks) == 0 {
			o.begun = false
			o.mu.Unlock()
			o.idle <- struct{}{}
			return
		}
		o.mu.Unlock()
		o.send(message{Acks: acks})
	}
}

// flush waits until all that was acknowledged has been written. No call of ack may come
// at the same time.
func (o *outbox) flush() {
	for {
		<-o.idle
		o.mu.Lock()
		empty := !o.begun
		o.mu.Unlock()
		o.idle <- struct{}{}
		if empty {
			return
		}
	}
}
