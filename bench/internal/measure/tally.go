package measure

import "fmt"

// Tally is what the consumer at the end of a job saw. The job's items are
// 0, 1, 2, …, and its function hands each of them on, so a tally can judge
// order without a second slice. The zero Tally has seen nothing.
//
// A Tally belongs to one goroutine.
type Tally struct {
	Count     int    // items seen
	Sum       uint64 // checksum of their values, the same for any order
	Misplaced int    // items that were not the next in order; InOrder counts them

	// Later makes the tally of a run whose output takes a while to look through; it is
	// called when no clock runs. Nil: this is it.
	Later func() Tally
}

// InOrder takes the next item of an output that keeps the input's order.
func (t *Tally) InOrder(v int) {
	if v != t.Count {
		t.Misplaced++
	}
	t.AnyOrder(v)
}

// AnyOrder takes the next item of an output in any order.
func (t *Tally) AnyOrder(v int) {
	t.Count++
	t.Sum += scatter(v)
}

// scatter spreads v over 64 bits, so that two wrong values do not cancel out
// in a sum the way 1+4 and 2+3 do.
func scatter(v int) uint64 {
	const golden = 0x9E3779B97F4A7C15 // 2⁶⁴ ÷ the golden ratio
	h := uint64(v) * golden
	return h ^ h>>32
}

// WantTally is the tally of a correct run over n items.
func WantTally(n int) Tally {
	var t Tally
	for v := range n {
		t.InOrder(v)
	}
	return t
}

// differs says how a run's tally differs from the one wanted; "" if it does not.
func differs(want, got Tally) string {
	switch {
	case got.Count != want.Count:
		return fmt.Sprintf("%d items came out, not %d", got.Count, want.Count)
	case got.Misplaced != want.Misplaced:
		return fmt.Sprintf("%d items came out of order", got.Misplaced)
	case got.Sum != want.Sum:
		return fmt.Sprintf("checksum %x, not %x", got.Sum, want.Sum)
	}
	return ""
}
