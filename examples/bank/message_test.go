package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
)

// What is acknowledged by many at once is written once each, by the end of flush.
func TestOutboxWritesEachAcknowledgementByTheEndOfFlush(t *testing.T) {
	const owners, each = 8, 500
	for round := range 20 {
		var out bytes.Buffer
		o := newOutbox(&out)
		var all sync.WaitGroup
		for i := range owners {
			all.Go(func() {
				for k := range each {
					o.ack(i*each+k, outcome(k%2))
				}
			})
		}
		all.Wait()
		o.flush()
		seen := make([]int, owners*each)
		lines := 0
		for dec := json.NewDecoder(&out); ; lines++ {
			var m message
			if err := dec.Decode(&m); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for _, code := range m.Acks {
				number, o := decoded(code)
				seen[number]++
				if o != outcome(number%each%2) {
					t.Errorf("operation %d: outcome %v", number, o)
				}
			}
		}
		for number, n := range seen {
			if n != 1 {
				t.Fatalf("round %d: operation %d was told %d times, in %d lines", round, number, n, lines)
			}
		}
	}
}

// A line that the crash has cut off is not heard; one that makes no sense is an error.
func TestKeeperHearsWholeLinesOnly(t *testing.T) {
	for text, want := range map[string]int{
		"":                                 0,
		"{\"acks\":[1,2]}\n":               2,
		"{\"acks\":[1,2]}\n{\"acks\":[3]":  2,
		"{\"acks\":[1,2]}\n{\"acks\":[3]}": 2,
		"{\"acks\":[-1,2]}\n{}\n":          2,
	} {
		k := &keeper{told: newTold(10), past: make([]life, 1)}
		if err := k.hear(strings.NewReader(text), 0, nil, nopCloser{}); err != nil || k.told.count() != want {
			t.Errorf("%q: %d operations, error %v", text, k.told.count(), err)
		}
	}
	k := &keeper{told: newTold(10), past: make([]life, 1)}
	if err := k.hear(strings.NewReader("panic: oh\n"), 0, nil, nopCloser{}); err == nil {
		t.Error("no error")
	}
}
