package main

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"testing"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// testItems is enough for every library to leave its first chunks and buffers behind.
const testItems = 3_000

// eachContender runs test once for every line of every table.
func eachContender(t *testing.T, test func(t *testing.T, row measure.Row, c contender)) {
	t.Helper()
	for _, rows := range groups() {
		g := rows(config{items: testItems, spin: uncalibrated})
		for _, row := range g.Rows {
			for _, c := range row.Contenders {
				t.Run(g.Key+"/"+row.Name+"/"+c.Name(), func(t *testing.T) { test(t, row, c.(contender)) })
			}
		}
	}
}

func TestEveryContenderPassesItsOwnCheck(t *testing.T) {
	eachContender(t, func(t *testing.T, row measure.Row, c contender) {
		if _, err := row.Once(c); err != nil {
			t.Error(err)
		}
	})
}

func TestEveryContendersCheckFailsOnAWrongOutput(t *testing.T) {
	faults := map[string]func(j *job){
		"an item is lost":     func(j *job) { j.items = slices.Delete(slices.Clone(j.items), 7, 8) },
		"an item comes twice": func(j *job) { j.items = slices.Insert(slices.Clone(j.items), 7, 6) },
		"an item is replaced by another": func(j *job) {
			j.items = slices.Clone(j.items)
			j.items[7] = 6
		},
		"a value is wrong": func(j *job) {
			f := j.f
			j.f = func(ctx context.Context, v int) (int, error) {
				if v == len(j.items)-1 {
					return -v, nil
				}
				return f(ctx, v)
			}
		},
	}
	eachContender(t, func(t *testing.T, row measure.Row, c contender) {
		for name, plant := range faults {
			faulty := c
			if faulty.job.f == nil && name == "a value is wrong" {
				continue // a job without a function makes no values
			}
			plant(&faulty.job)
			if _, err := row.Once(faulty); !errors.Is(err, measure.ErrWrongOutput) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

func TestTheCheckOfThoseWhoPromiseOrderFailsOnTwoSwappedItems(t *testing.T) {
	eachContender(t, func(t *testing.T, row measure.Row, c contender) {
		items := slices.Clone(c.job.items)
		items[7], items[8] = items[8], items[7]
		c.job.items = items
		_, err := row.Once(c)
		if swapped := errors.Is(err, measure.ErrWrongOutput); swapped != (c.promise == inOrder) {
			t.Errorf("promise %d: got %v", c.promise, err)
		}
	})
}

func TestAnErrorOfFEndsTheRunOfEveryContenderThatCarriesErrors(t *testing.T) {
	boom := errors.New("boom")
	eachContender(t, func(t *testing.T, row measure.Row, c contender) {
		if c.name == handChans.name || c.name == bareHops.name {
			return // they drop it, as their comment says; the count is short
		}
		f := c.job.f
		if f == nil {
			return // a job without a function, which moves items and no more
		}
		c.job.f = func(ctx context.Context, v int) (int, error) {
			if v == 7 {
				return 0, boom
			}
			return f(ctx, v)
		}
		if _, err := row.Once(c); !errors.Is(err, boom) {
			t.Errorf("got %v", err)
		}
	})
}

func TestEveryTargetBelongsToALineOfItsTable(t *testing.T) {
	for _, rows := range groups() {
		g := rows(config{items: testItems, spin: uncalibrated})
		for _, target := range g.Targets {
			row, found := g.Select(regexp.MustCompile("^" + regexp.QuoteMeta(g.Key+"/"+target.Row) + "$"))
			if !found || !slices.ContainsFunc(row.Rows[0].Contenders, func(c measure.Contender) bool { return c.Name() == target.Contender }) {
				t.Errorf("%s: %s of %q at %q", g.Key, target, target.Contender, target.Row)
			}
		}
	}
}
