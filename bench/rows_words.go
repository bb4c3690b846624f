package main

import "github.com/seed95b73fdc/sluice/bench/internal/measure"

// wordRows: what does it cost to bring together what workers have counted?
func wordRows(c config) measure.Group {
	const (
		n     = 2
		share = 0.9
		zipf  = 1.1
		large = 10 // times the usual items, for many keys
		some  = 5  // and for few
		line  = 12 // words
	)
	g := measure.Group{
		Key:   "words",
		Title: "Word count",
		Job: "How often does each word occur in a text? n = 2. Each way ends with the counts of all words; they are all checked, while no clock runs. " +
			"Times are per word, also where an item is a line, of 12 words, which each way takes apart by strings.FieldsSeq. " +
			"The limit is two goroutines with half of the text each, which count into maps of their own and never bring them together: " +
			"so it has one thing less to do. " +
			"Fold merges two maps in one goroutine; where its state is in 64 parts by the hash of the word, batch.Ranges merges them in all. " +
			"Where an item is a single word, every word is claimed by itself, so that none waits behind a call that is stuck (P3), which the limit does not do: " +
			"that costs as much as to count it.",
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
		perItem         int
	}{
		{"lines, few keys", some * c.items, max(2, c.items/100), zipf, line},
		{"lines, as many keys as half the words", large * c.items, max(2, large*c.items/2), 0, line},
		{"single words, few keys", some * c.items, max(2, c.items/100), zipf, 1},
		{"single words, as many keys as half the words", large * c.items, max(2, large*c.items/2), 0, 1},
	} {
		t := newText(kind.words, kind.distinct, kind.zipf, kind.perItem)
		w := t.counters(job{upTo(len(t.items)), n, noop})
		g.Rows = append(g.Rows, measure.Row{
			Name: kind.name, Items: t.words, Want: measure.WantTally(t.distinct),
			Contenders: []measure.Contender{w.loop, w.limit, w.fold, w.inParts, w.mapReduce, w.rill, w.mutex, w.sharded},
		})
		g.Drawn = append(g.Drawn, kind.name)
		best := w.fold
		if kind.zipf == 0 {
			best = w.inParts // to merge two maps takes one goroutine, to merge parts of them takes all
		}
		g.Targets = append(g.Targets,
			measure.FasterThan(kind.name, best.name, w.limit.name, share),
			measure.FasterThan(kind.name, w.mapReduce.name, w.limit.name, share),
			measure.FasterThan(kind.name, w.mapReduce.name, w.rill.name, 1),
		)
	}
	return g
}
