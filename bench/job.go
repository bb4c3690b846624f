package main

import (
	"context"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// job is what every contender of a row has to do: apply f to each item with at
// most n calls at once, and hand the results to one consumer.
type job struct {
	items []int
	n     int
	f     func(context.Context, int) (int, error)
}

// way is one way to do a job. It hands each result to take, never from two
// goroutines at once, and returns when take has had the last one.
type way func(ctx context.Context, j job, take func(int)) error

// promise says what a way promises about the order of its results.
type promise int

const (
	inOrder promise = iota
	anyOrder
)

// entry names a way.
type entry struct {
	name    string
	do      way
	promise promise
}

// contender is an entry with the job it has to do. It implements measure.Contender.
type contender struct {
	entry
	job job
}

func (c contender) Name() string { return c.name }

// Run does the job once. The tally is the consumer, so its nanosecond or two
// per item is part of everyone's time.
func (c contender) Run() (measure.Tally, error) {
	var t measure.Tally
	take := t.InOrder
	if c.promise == anyOrder {
		take = t.AnyOrder
	}
	err := c.do(context.Background(), c.job, take)
	return t, err
}

// row makes a measure.Row of a job and those who do it.
func (j job) row(name, subject string, entries ...entry) measure.Row {
	row := measure.Row{Name: name, Items: len(j.items), Want: measure.WantTally(len(j.items)), Subject: subject}
	for _, e := range entries {
		row.Contenders = append(row.Contenders, contender{e, j})
	}
	return row
}

// upTo returns 0, 1, …, n-1: the items that a Tally expects.
func upTo(n int) []int {
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}
	return items
}

// noop is the cheapest f there is: what is left is the price of coordination.
func noop(_ context.Context, v int) (int, error) { return v, nil }
