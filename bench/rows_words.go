package main

import "github.com/seed95b73fdc/sluice/bench/internal/measure"

// wordRows: what does it cost to bring together what workers have counted?
func wordRows(c config) measure.Group {
	const (
		n     = 2
		share = 0.9
		zipf  = 1.1
		large = 10 // times the usual items, for many keys
	)
	g := measure.Group{
		Key:   "words",
		Title: "Word count",
		Job: "How often does each word occur? An item is a word; n = 2. Each way ends with the counts of all words, and all are checked. " +
			"The limit is two goroutines with half of the text each, which count into maps of their own and never bring them together: " +
			"so it has one thing less to do. " +
			"Fold merges two maps in one goroutine; where its state is in 64 parts by the hash of the word, batch.Ranges merges them in all.",
		Ratios: []measure.Ratio{
			speedUp(plainLoop.name),
			{Title: "of the limit", Of: func(r *measure.Result, row, contender string) []float64 {
				return measure.Divide(r.Nanos(row, "two halves, two maps, not merged"), r.Nanos(row, contender))
			}},
		},
	}
	for _, kind := range []struct {
		name            string
		words, distinct int
		zipf            float64
	}{
		{"few keys", large * c.items, max(2, c.items/100), zipf},
		{"as many keys as half the words", large * c.items, max(2, large*c.items/2), 0},
	} {
		t := newText(kind.words, kind.distinct, kind.zipf)
		loop, limit, fold, inParts, mapReduce, rillWay, mutex, sharded := t.counting()
		g.Rows = append(g.Rows, job{upTo(kind.words), n, noop}.row(kind.name, "", loop, limit, fold, inParts, mapReduce, rillWay, mutex, sharded))
		g.Drawn = append(g.Drawn, kind.name)
		best := fold
		if kind.zipf == 0 {
			best = inParts // to merge two maps takes one goroutine, to merge parts of them takes all
		}
		g.Targets = append(g.Targets,
			measure.FasterThan(kind.name, best.name, limit.name, share),
			measure.FasterThan(kind.name, mapReduce.name, limit.name, share),
			measure.FasterThan(kind.name, mapReduce.name, rillWay.name, 1),
		)
	}
	return g
}
