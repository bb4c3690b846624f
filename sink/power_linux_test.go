package sink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sys/unix"
)

const manyCuts = 500

// cuts is how often the power is cut: as often as it is to be, unless the race
// detector or a 32-bit program, which have nothing to add, is what is being run.
func cuts(t testing.TB, full int) int {
	if raceEnabled || strconv.IntSize == 32 || testing.Short() {
		return cycles(t, full/25, full)
	}
	return full
}

// The power of a real file system is cut while the log is being written. All that
// was synced is there, whatever was not is a prefix or gone, at each level of
// durability.
func TestRealPowerCutLosesNothingThatWasSynced(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	n := cuts(t, manyCuts)
	for lane, mkfs := range makes {
		t.Run(fmt.Sprint(mkfs), func(t *testing.T) {
			t.Parallel()
			c := &cutting{T: t, rig: newRig(t, mkfs...), seed: seed + uint64(lane), files: map[uint64]bool{}}
			c.r = rand.New(rand.NewPCG(c.seed, 3))
			c.path = filepath.Join(c.rig.dir, "log")
			for c.number = range n / len(makes) {
				c.once()
			}
			t.Logf("seed %d: %d cuts left %d different files: %d records kept, %d unsynced ones lost, %d dropped; %d times some of the unsynced ones lost and some not",
				c.seed, n/len(makes), len(c.files), c.kept, c.lost, c.dropped, c.torn)
			if n == manyCuts && (c.kept == 0 || c.lost == 0 || c.dropped == 0 || c.torn == 0 || len(c.files) < n/len(makes)*9/10) {
				t.Error("the cuts have cut nothing")
			}
		})
	}
}

// cutting is a log on a rig.
type cutting struct {
	*testing.T
	rig    *rig
	seed   uint64
	r      *rand.Rand
	path   string
	number int // of the cut

	files                     map[uint64]bool // hashes of what the cuts have left
	kept, lost, dropped, torn int
}

// promised is what a writer has been told, for the goroutine that cuts its power.
type promised struct {
	synced    atomic.Uint64
	dropping  atomic.Uint64 // a Drop up to here has begun,
	dropped   atomic.Uint64 // and one up to here has ended
	reached   chan struct{} // closed when the log is want long
	want, max uint64
}

// once opens the log, writes to it, cuts the power in the middle of that, and looks
// at what is left.
func (c *cutting) once() {
	const perLog = 15
	level := []Durability{EverySync, Interval(time.Millisecond), Buffered}[c.number%3]
	if c.number%perLog == 0 {
		os.Remove(c.path)
		ok(c, must[*Log[event]](c)(Create[event](c.path)).Close())
	}
	l := must[*Log[event]](c)(Open[event](c.path, level, SegmentSize(256<<10)))
	begun, base := l.Len(), l.First()
	p := &promised{reached: make(chan struct{}), want: begun + 1 + c.r.Uint64N(2000), max: begun + 50_000}
	p.synced.Store(begun)
	p.dropping.Store(base)
	p.dropped.Store(base)
	ended := make(chan struct{})
	r := rand.New(rand.NewPCG(c.r.Uint64(), 4))
	go func() {
		defer close(ended)
		writeUntilCut(c, l, level, p, r)
	}()
	select { // some way into it
	case <-p.reached:
	case <-ended:
	}
	safe := max(p.synced.Load(), l.core.durable.Load())
	gone := p.dropped.Load()
	c.rig.cut(noLogFlush - c.r.Uint32N(2))
	<-ended
	appended := l.Len()
	l.Close() // cannot
	c.rig.again()
	c.files[xxhash.Sum64(must[[]byte](c)(os.ReadFile(c.path)))] = true
	l, err := Open[event](c.path)
	if err != nil {
		c.Fatalf("seed %d, cut %d, %v: %v", c.seed, c.number, level, err)
	}
	if l.Len() < safe || l.Len() > appended || l.First() < gone || l.First() > p.dropping.Load() {
		c.Fatalf("seed %d, cut %d, %v: records %d to %d, %d synced, %d appended, dropped to %d or %d; recovered %v",
			c.seed, c.number, level, l.First(), l.Len(), safe, appended, gone, p.dropping.Load(), l.Recovery())
	}
	wantEvents(c, l, l.First(), l.Len())
	c.kept, c.lost, c.dropped = c.kept+int(l.Len()-begun), c.lost+int(appended-l.Len()), c.dropped+int(l.First()-base)
	if safe < l.Len() && l.Len() < appended {
		c.torn++
	}
	ok(c, l.Close())
}

// writeUntilCut appends chunks of all sizes, syncs and drops now and then, and has the
// kernel write pages of the file that nobody has asked for, as it does when it has no
// memory, or time: later ones before earlier ones.
func writeUntilCut(t testing.TB, l *Log[event], level Durability, p *promised, r *rand.Rand) {
	f := must[*os.File](t)(os.OpenFile(l.core.path, os.O_RDWR, 0))
	defer f.Close()
	for {
		recs := make([]event, 1+r.IntN(40))
		for i := range recs {
			recs[i] = eventOf(l.Len() + uint64(i))
		}
		first, err := l.Append(recs...)
		if errors.Is(err, ErrShrunk) {
			t.Errorf("nobody has cut the file, and Append says: %v", err)
		}
		if err != nil || l.Len() > p.max {
			return
		}
		end := first + uint64(len(recs))
		if first < p.want && end >= p.want {
			close(p.reached)
		}
		if level == EverySync {
			p.synced.Store(end)
		}
		switch r.IntN(40) {
		case 0:
			if l.Sync() == nil {
				p.synced.Store(end)
			}
		case 1:
			to := l.First() + r.Uint64N(1+end-l.First())
			p.dropping.Store(to)
			if l.Drop(to) == nil {
				p.dropped.Store(to)
			}
		case 2, 3, 4:
			back := int64(r.Uint64N(end-l.First()+1)) * 32 / pageUnit
			at := l.core.geo.offset(end)/pageUnit - back
			unix.SyncFileRange(int(f.Fd()), at*pageUnit, int64(1+r.IntN(3))*pageUnit, unix.SYNC_FILE_RANGE_WRITE)
		}
	}
}

// A File's part that has its name is whole, and on the disk when Rotate, or the Close
// of Whole, has returned.
func TestRealPowerCutLeavesFilesWholeOrNotThere(t *testing.T) {
	rig := newRig(t, makes[0]...)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 5))
	text := func(part int) []byte { return bytes.Repeat(fmt.Appendf(nil, "part %d\n", part), 1+part*7%900) }
	whole, unnamed := 0, 0
	n := cuts(t, manyCuts/10)
	for cut := range n {
		dir := filepath.Join(rig.dir, strconv.Itoa(cut))
		ok(t, os.Mkdir(dir, 0o700))
		f := must[*File](t)(NewFile(filepath.Join(dir, "part"), RotateSize(1<<30)))
		var parts, replaced atomic.Int64
		want := 1 + r.Int64N(20)
		ended, reached := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for part := 1; ; part++ {
				for _, line := range bytes.SplitAfter(text(part), []byte("\n")) {
					if _, err := f.Write(line); err != nil {
						return
					}
				}
				if f.Rotate() != nil {
					return
				}
				parts.Store(int64(part))
				if Whole(filepath.Join(dir, "one"), func(w io.Writer) error { return second(w.Write(text(part))) }) != nil {
					return
				}
				if replaced.Store(int64(part)); int64(part) == want {
					close(reached)
				}
			}
		}()
		select {
		case <-reached:
		case <-ended:
			t.Fatalf("cut %d: it ended by itself", cut)
		}
		named, one := parts.Load(), replaced.Load()
		rig.cut(noLogFlush - r.Uint32N(2))
		<-ended
		f.Abort()
		rig.again()
		for _, e := range must[[]os.DirEntry](t)(os.ReadDir(dir)) {
			got := must[[]byte](t)(os.ReadFile(filepath.Join(dir, e.Name())))
			part := 0
			switch fmt.Sscanf(e.Name(), "part-%06d", &part); {
			case part > 0:
				named--
			case e.Name() == "one":
				fmt.Sscanf(string(got), "part %d", &part)
				if part < int(one) {
					t.Errorf("seed %d, cut %d: replaced by part %d, which was over", seed, cut, part)
				}
			default:
				unnamed++
				continue
			}
			if whole++; !bytes.Equal(got, text(part)) {
				t.Errorf("seed %d, cut %d: %s has %d bytes, want %d", seed, cut, e.Name(), len(got), len(text(part)))
			}
		}
		if named > 0 {
			t.Errorf("seed %d, cut %d: %d parts are missing", seed, cut, named)
		}
		ok(t, os.RemoveAll(dir))
	}
	t.Logf("seed %d: %d files whole, %d without a name", seed, whole, unnamed)
	if n == manyCuts/10 && (whole == 0 || unnamed == 0) {
		t.Error("the cuts have cut nothing")
	}
}
