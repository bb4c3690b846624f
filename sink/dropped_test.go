package sink

import (
	"errors"
	"os"
	"testing"

	"github.com/seed95b73fdc/sluice/stage"
)

// A block of which a part has been dropped is still there, and so is damage in it.
func TestDamageInABlockOfWhichAPartWasDropped(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		path := newPath(t)
		l := must[*Log[event]](t)(Create[event](path, way))
		per := l.core.geo.per
		appendEvents(t, l, 3*int(per))
		ok(t, l.Sync())
		r := must[*Log[event]](t)(Open[event](path, way, ReadOnly()))
		ok(t, l.Drop(per+3))
		f := must[*os.File](t)(os.OpenFile(path, os.O_WRONLY, 0))
		must[int](t)(f.WriteAt([]byte{0xff}, l.core.geo.offset(per+10)))
		ok(t, f.Close())
		for range l.Records() {
			t.Error("a record of a damaged block")
		}
		for range r.RecordsFrom(per + 5) {
			t.Error("a record of a damaged block")
		}
		for _, l := range []*Log[event]{l, r} {
			if !errors.Is(l.Err(), ErrCorrupt) {
				t.Errorf("read only %v: %v", l.core.conf.readOnly, l.Err())
			}
		}
		ok(t, r.Close())
		l.Close()
	})
}

// A loop that has come to records which another process has written since Open, and has
// dropped, has not seen all.
func TestLoopComesToWhatAnotherProcessHasWrittenAndDropped(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		path := newPath(t)
		l := must[*Log[event]](t)(Create[event](path, way))
		per := l.core.geo.per
		appendEvents(t, l, 2*int(per)) // whole blocks, so that nothing of the next one is known
		r := must[*Log[event]](t)(Open[event](path, way, ReadOnly()))
		next := uint64(0)
		for i := range r.Records() {
			if next = i + 1; next == 2*per {
				appendEvents(t, l, 2*int(per))
				ok(t, l.Drop(3*per+1))
			}
		}
		if next != 2*per || !errors.Is(r.Err(), ErrDropped) {
			t.Errorf("read up to %d, Err is %v", next, r.Err())
		}
		var again []uint64
		for i, e := range r.Records() {
			if e != eventOf(i) {
				t.Errorf("record %d is %v", i, e)
			}
			again = append(again, i)
		}
		if uint64(len(again)) != per-1 || again[0] != 3*per+1 {
			t.Errorf("then %v", again)
		}
		if _, err := stage.Count(t.Context(), Read(r, 2*per)); err != nil { // begins behind it, too
			t.Error(err)
		}
		ok(t, r.Close())
		ok(t, l.Close())
	})
}

// The process that writes drops records, while another one that opens the log has read the
// header and not yet the blocks.
func TestOpenForReadingWhileRecordsAreDropped(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		path := newPath(t)
		l := must[*Log[event]](t)(Create[event](path, way))
		const step, drops = 1000, 3
		appendEvents(t, l, step)
		ok(t, l.Sync())
		dropped := 0
		s := &watched{system: host, before: func(off int64) {
			if off < int64(l.core.geo.header) {
				return
			}
			if dropped++; dropped <= drops {
				appendEvents(t, l, step)
				ok(t, l.Drop(l.Len()-step/2))
			}
		}}
		r := must[*Log[event]](t)(Open[event](path, withSystem(s), ReadOnly()))
		if dropped <= drops {
			t.Errorf("the blocks were read %d times", dropped)
		}
		wantEvents(t, r, (drops+1)*step-step/2, (drops+1)*step)
		ok(t, r.Close())
		ok(t, l.Close())
	})
}
