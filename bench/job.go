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
	job  job
	make maker // in place of do
}

// maker is a way to do a job whose output is no stream of items: it returns a function
// that looks the output through, and hands to take what is in it.
type maker func(ctx context.Context, j job) (look func(take func(int)), err error)

func (c contender) Name() string { return c.name }

// Run does the job once. The tally is the consumer, so its nanosecond or two
// per item is part of everyone's time; what takes longer is looked at later.
func (c contender) Run() (measure.Tally, error) {
	var t measure.Tally
	take := t.InOrder
	if c.promise == anyOrder {
		take = t.AnyOrder
	}
	if c.make != nil {
		look, err := c.make(context.Background(), c.job)
		return measure.Tally{Later: func() measure.Tally {
			look(take)
			return t
		}}, err
	}
	err := c.do(context.Background(), c.job, take)
	return t, err
}

// row makes a measure.Row of a job and those who do it.
func (j job) row(name, subject string, entries ...entry) measure.Row {
	row := measure.Row{Name: name, Items: len(j.items), Want: measure.WantTally(len(j.items)), Subject: subject}
	for _, e := range entries {
		row.Contenders = append(row.Contenders, contender{entry: e, job: j})
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
