package sink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRecordsComeBackAsTheyWereAppended(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		path := newPath(t)
		l := must[*Log[event]](t)(Create[event](path, way, SegmentSize(minSegment)))
		const n = 3*minSegment/32 + 5 // over three segments and into a block
		fillLog(t, l, n)
		wantEvents(t, l, 0, n)
		ok(t, l.Close())
		l = must[*Log[event]](t)(Open[event](path, way, SegmentSize(minSegment)))
		if r := l.Recovery(); !r.Clean || r.Records != n || r.Cut != 0 {
			t.Errorf("recovered %v", r)
		}
		fillLog(t, l, n)
		wantEvents(t, l, 0, 2*n)
		ok(t, l.Close())
		l = must[*Log[event]](t)(Open[event](path, way, ReadOnly()))
		wantEvents(t, l, 0, 2*n)
		ok(t, l.Close())
	})
}

func TestChunksOfAnySizeAreWholeAndInOrder(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		l := must[*Log[event]](t)(Create[event](newPath(t), way, SegmentSize(minSegment)))
		per := int(l.core.geo.per)
		for _, n := range []int{1, per - 2, 1, 2, per, 3*per + 1, 3 * minSegment / 32, 0, 7} {
			recs, at := make([]event, n), l.Len()
			for i := range recs {
				recs[i] = eventOf(at + uint64(i))
			}
			if first, err := l.Append(recs...); first != at || err != nil {
				t.Fatalf("%d records at %d: index %d, %v", n, at, first, err)
			}
		}
		wantEvents(t, l, 0, l.Len())
		for i, e := range l.RecordsFrom(500) {
			if i != 500 || e != eventOf(500) {
				t.Errorf("from 500: %d, %v", i, e)
			}
			break
		}
		ok(t, l.Close())
	})
}

// C85
func TestCloseCutsTheFileToItsRecords(t *testing.T) {
	type rec [100]byte
	path := newPath(t)
	l := must[*Log[rec]](t)(Create[rec](path, SegmentSize(1<<20)))
	for range 10 {
		must[uint64](t)(l.Append(rec{1}))
	}
	open := must[fs.FileInfo](t)(os.Stat(path)).Size()
	ok(t, l.Close())
	size := must[fs.FileInfo](t)(os.Stat(path)).Size()
	if open < leastGrowth || size != int64(pageUnit+wordsLen+10*100) {
		t.Errorf("%d bytes while open, %d when closed", open, size)
	}
}

// C85: what a crash leaves of the space that was allocated is the end of the
// data, and no damage.
func TestZeroTailOfAProcessThatDiedIsNoRecord(t *testing.T) {
	path := newPath(t)
	l := must[*Log[event]](t)(Create[event](path))
	fillLog(t, l, 10)
	crash := crashed(t, path)
	ok(t, l.Close())
	l = must[*Log[event]](t)(Open[event](crash))
	if r := l.Recovery(); r.Clean || r.Records != 10 || r.Cut != 0 {
		t.Errorf("recovered %v", r)
	}
	wantEvents(t, l, 0, 10)
	ok(t, l.Close())
}

// crashed copies a log as it is, as a process that is killed would leave it.
func crashed(t testing.TB, path string) string {
	t.Helper()
	to := newPath(t)
	ok(t, os.WriteFile(to, must[[]byte](t)(os.ReadFile(path)), 0o600))
	return to
}

func TestOpenTwiceIsRefusedUntilTheFirstIsClosed(t *testing.T) {
	path := newPath(t)
	l := must[*Log[event]](t)(Create[event](path))
	if _, err := Open[event](path); !errors.Is(err, ErrLocked) {
		t.Errorf("second writer: %v", err)
	}
	if _, err := Create[event](path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created again: %v", err)
	}
	r := must[*Log[event]](t)(Open[event](path, ReadOnly()))
	if _, err := r.Append(event{}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("append by a reader: %v", err)
	}
	if err := r.Sync(); !errors.Is(err, ErrReadOnly) {
		t.Errorf("sync by a reader: %v", err)
	}
	ok(t, r.Close())
	ok(t, l.Close())
	ok(t, must[*Log[event]](t)(Open[event](path)).Close())
}

func TestOnlyTheOwnerCanReadTheFile(t *testing.T) {
	path := newPath(t)
	ok(t, must[*Log[event]](t)(Create[event](path)).Close())
	if mode := must[fs.FileInfo](t)(os.Stat(path)).Mode(); mode != 0o600 {
		t.Errorf("mode %v", mode)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestLinksDirectoriesAndDevicesAreNotOpened(t *testing.T) {
	path := newPath(t)
	ok(t, must[*Log[event]](t)(Create[event](path)).Close())
	link := path + ".link"
	ok(t, os.Symlink(path, link))
	for _, p := range []string{link, filepath.Dir(path), os.DevNull} {
		if _, err := Open[event](p); !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), p) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if _, err := Create[event](link); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created through a link: %v", err)
	}
	if _, err := Open[event](path + ".none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestAnotherLayoutIsRefusedAndBothAreNamed(t *testing.T) {
	path := newPath(t)
	ok(t, must[*Log[event]](t)(Create[event](path)).Close())
	type swapped struct {
		Writer, ID, Seq uint64
		Fill            [8]byte
	}
	type other struct{ A, B uint64 }
	for name, err := range map[string]error{
		"fields swapped": second(Open[swapped](path)),
		"another size":   second(Open[other](path)),
	} {
		if !errors.Is(err, ErrLayout) || !strings.Contains(err.Error(), "{ID uint64; Writer uint64; Seq uint64; Fill [8]uint8}") {
			t.Errorf("%s: %v", name, err)
		}
	}
	type renamed event
	ok(t, must[*Log[renamed]](t)(Open[renamed](path)).Close())
	text := filepath.Join(t.TempDir(), "text")
	ok(t, os.WriteFile(text, []byte(strings.Repeat("not a log\n", 1000)), 0o600))
	if _, err := Open[event](text); !errors.Is(err, ErrNotLog) {
		t.Errorf("a text: %v", err)
	}
}

func second[A any](_ A, err error) error { return err }

// C81, C93
func TestAfterCloseEveryMethodSaysSo(t *testing.T) {
	l := must[*Log[event]](t)(Create[event](newPath(t)))
	fillLog(t, l, 3)
	ok(t, l.Close())
	ok(t, l.Close())
	if _, err := l.Append(event{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Append: %v", err)
	}
	if err := l.Drop(3); !errors.Is(err, ErrClosed) {
		t.Errorf("Drop: %v", err)
	}
	for range l.Records() {
		t.Error("a record")
	}
	if !errors.Is(l.Err(), ErrClosed) {
		t.Errorf("Err: %v", l.Err())
	}
	for range l.Follow(t.Context()) {
		t.Error("a record")
	}
	if l.Len() != 3 {
		t.Errorf("Len: %d", l.Len())
	}
}

// C80: a loop over records does not keep the log from growing, not even in the
// goroutine that is in it, and Close ends it.
func TestReadersHoldUpNobody(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		l := must[*Log[event]](t)(Create[event](newPath(t), way, SegmentSize(minSegment)))
		fillLog(t, l, 1000)
		seen := uint64(0)
		for i, e := range l.Records() {
			if e != eventOf(i) {
				t.Fatalf("record %d: %v", i, e)
			}
			if seen++; l.Len() < 20_000 {
				fillLog(t, l, 20)
			}
		}
		if seen != 20_000 || l.Err() != nil {
			t.Errorf("%d records seen, %v", seen, l.Err())
		}
		for range l.Records() {
			ok(t, l.Close())
		}
		if !errors.Is(l.Err(), ErrClosed) {
			t.Errorf("closed in a loop: %v", l.Err())
		}
	})
}

func TestDropGivesSpaceBackAndKeepsIndices(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		path := newPath(t)
		l := must[*Log[event]](t)(Create[event](path, way, SegmentSize(minSegment)))
		const n = 40_000
		recs := make([]event, n)
		for i := range recs {
			recs[i] = eventOf(uint64(i))
		}
		must[uint64](t)(l.Append(recs...))
		ok(t, l.Sync())
		l.core.helping.Wait() // for the room that is made ahead
		before := allocatedBytes(t, path)
		crash := func() string { return crashed(t, path) }
		ok(t, l.Drop(30_000))
		ok(t, l.Drop(10)) // behind already
		if after := allocatedBytes(t, path); before > 0 && after > before/2 {
			t.Errorf("%d bytes of the disk before, %d after", before, after)
		}
		if l.First() != 30_000 {
			t.Errorf("First is %d", l.First())
		}
		wantEvents(t, l, 30_000, n)
		ok(t, l.Close())
		for _, p := range []string{path, crash()} {
			r := must[*Log[event]](t)(Open[event](p, way))
			if got := r.Recovery(); got.Records != n-30_000 || got.Cut != 0 {
				t.Errorf("recovered %v", got)
			}
			wantEvents(t, r, 30_000, n)
			ok(t, r.Drop(n+1))
			wantEvents(t, r, n, n)
			fillLog(t, r, 3)
			ok(t, r.Close())
			r = must[*Log[event]](t)(Open[event](p, way))
			wantEvents(t, r, n, n+3)
			ok(t, r.Close())
		}
	})
}
