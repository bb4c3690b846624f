package keyed

import (
	"testing"

	"github.com/seed95b73fdc/sluice/stage"
)

// What was put aside for a reader that has yet to come for it counts too.
func TestCombineCountsWhatWasPutAsideP4(t *testing.T) {
	const size = 3
	for taken := range size + 1 {
		c := &sums[int, int]{pump: &pump[int]{size: size}, where: map[int]uint64{}}
		c.aside, c.given = make([]stage.Try[int], size), taken
		c.claim()
		room := 0
		for c.take(room, &stage.Try[int]{Value: room}) {
			room++
		}
		if room != taken {
			t.Errorf("with %d of %d items taken there is room for %d", taken, size, room)
		}
	}
}
