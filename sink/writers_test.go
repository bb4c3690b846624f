package sink

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The later of two calls copies first: it is acknowledged, and its record is seen,
// only when the earlier one has copied too.
func TestOnlyTheCompletedPrefixIsVisible(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		path := newPath(t)
		synctest.Test(t, func(t *testing.T) {
			l := must[*Log[event]](t)(Create[event](path, way))
			c := l.core
			reserve := func(i uint64) *turn {
				first := must[uint64](t)(c.reserve(1))
				if first != i {
					t.Fatalf("reserved %d, want %d", first, i)
				}
				return &turn{first: i, end: i + 1, mine: i + 1, records: bytesOf([]event{eventOf(i)})}
			}
			turns := []*turn{reserve(0), reserve(1), reserve(2)}
			var done atomic.Int32
			for _, i := range []int{2, 1} {
				go func() {
					if c.place(turns[i]); !turns[i].had {
						c.await(turns[i].mine)
					}
					done.Add(1)
				}()
				synctest.Wait()
				if done.Load() != 0 || l.Len() != 0 {
					t.Fatalf("%d acknowledged, %d visible, before the first", done.Load(), l.Len())
				}
			}
			closed := make(chan error, 1)
			go func() { closed <- l.Close() }()
			synctest.Wait() // Close waits for all three
			wantEvents(t, l, 0, 0)
			c.place(turns[0])
			if l.Len() != 3 { // at once, for all
				t.Errorf("%d visible after the first", l.Len())
			}
			ok(t, <-closed)
			synctest.Wait()
			if done.Load() != 2 {
				t.Errorf("%d acknowledged", done.Load())
			}
		})
		l := must[*Log[event]](t)(Open[event](path, way))
		wantEvents(t, l, 0, 3)
		ok(t, l.Close())
	})
}

// Every record exactly once, each writer's in its order, at the index that its
// Append has returned; with chunks so long that ranges are further apart than the
// ring of marks is long.
func TestManyWritersWriteEachRecordOnceAtItsIndex(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		const writers, rounds = 5, 300
		l := must[*Log[event]](t)(Create[event](newPath(t), way))
		sizes := []int{1, 2, 200, 1, 700, 130}
		firsts := make([][]uint64, writers)
		var wg sync.WaitGroup
		for w := range uint64(writers) {
			wg.Go(func() {
				for i := range rounds {
					recs := make([]event, sizes[(uint64(i)+w)%uint64(len(sizes))])
					for k := range recs {
						recs[k] = event{ID: uint64(i), Writer: w, Seq: uint64(k)}
					}
					first, err := l.Append(recs...)
					if err != nil || l.Len() < first+uint64(len(recs)) {
						t.Errorf("%d visible after an append to %d: %v", l.Len(), first, err)
					}
					firsts[w] = append(firsts[w], first)
				}
			})
		}
		wg.Wait()
		total := uint64(0)
		for w := range uint64(writers) {
			for i, first := range firsts[w] {
				size := sizes[(uint64(i)+w)%uint64(len(sizes))]
				total += uint64(size)
				k := uint64(0)
				for at, e := range l.RecordsFrom(first) {
					if e != (event{ID: uint64(i), Writer: w, Seq: k}) {
						t.Fatalf("writer %d, round %d: record %d at %d is %v", w, i, k, at, e)
					}
					if k++; k == uint64(size) {
						break
					}
				}
			}
		}
		if l.Len() != total {
			t.Errorf("%d records, want %d", l.Len(), total)
		}
		ok(t, l.Close())
	})
}

// A mark that lies one ring ahead must not be taken for that of the next range.
// The one who publishes is held up between its store and its look at the mark, by
// running it in two halves.
func TestMarkOfALaterRingIsLeftAlone(t *testing.T) {
	l := must[*Log[event]](t)(Create[event](newPath(t)))
	c := l.core
	recs := make([]event, markCount)
	for i := range recs {
		recs[i] = eventOf(uint64(i + 1))
	}
	must[uint64](t)(l.Append(eventOf(0)))
	slow := &turn{first: 0, end: 1, mine: 1, copied: true, has: true, had: true}
	// Others publish [1, markCount+1) meanwhile, and one more marks the range behind
	// the next, whose mark is where that of 1 would be.
	must[uint64](t)(l.Append(recs...))
	must[uint64](t)(c.reserve(1))
	must[uint64](t)(c.reserve(1))
	later := uint64(markCount + 1)
	c.marks[later%markCount].Store(later + 1)
	c.lookOn(slow)
	if c.marks[later%markCount].Load() == 0 || slow.first != 0 {
		t.Error("the mark was taken")
	}
	c.marks[later%markCount].Store(0)
	for i := range uint64(2) {
		c.place(&turn{first: later + i, end: later + i + 1, mine: later + i + 1, records: bytesOf([]event{eventOf(later + i)})})
	}
	wantEvents(t, l, 0, markCount+3)
	ok(t, l.Close())
}

func TestAppendsThatRaceWithCloseAreWholeOrRefused(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		path := newPath(t)
		l := must[*Log[event]](t)(Create[event](path, way, SegmentSize(minSegment)))
		var acked atomic.Uint64
		var wg sync.WaitGroup
		begun := make(chan struct{})
		for w := range uint64(4) {
			wg.Go(func() {
				for i := uint64(0); ; i++ {
					if i == 100 && w == 0 {
						close(begun)
					}
					switch _, err := l.Append(event{Writer: w, Seq: i}, event{Writer: w, Seq: i}); {
					case errors.Is(err, ErrClosed):
						return
					case err != nil:
						t.Error(err)
						return
					}
					acked.Add(2)
				}
			})
		}
		<-begun
		ok(t, l.Close())
		wg.Wait()
		l = must[*Log[event]](t)(Open[event](path, way))
		if l.Len() != acked.Load() || l.Recovery().Cut != 0 {
			t.Errorf("%d records, %d acknowledged; recovered %v", l.Len(), acked.Load(), l.Recovery())
		}
		ok(t, l.Close())
	})
}

// counted counts the syncs of a log's file.
type counted struct {
	system
	syncs atomic.Int32
	block chan struct{} // a sync waits for it, if it is not nil
}

type countedFile struct {
	file
	s *counted
}

func (s *counted) Open(path string, flag int) (file, error) {
	f, err := s.system.Open(path, flag)
	return countedFile{f, s}, err
}

func (f countedFile) Sync() error {
	f.s.syncs.Add(1)
	if f.s.block != nil {
		<-f.s.block
	}
	return f.file.Sync()
}

func TestEverySyncAcknowledgesOnlyWhatIsOnTheDiskAndSharesSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{system: newMemory()}
		l := must[*Log[event]](t)(Create[event](memPath, withSystem(s), EverySync))
		s.block = make(chan struct{})
		begun := s.syncs.Load()
		var acked atomic.Int32
		const writers = 20
		for i := range uint64(writers) {
			go func() {
				must[uint64](t)(l.Append(eventOf(i)))
				acked.Add(1)
			}()
		}
		synctest.Wait()
		if acked.Load() != 0 || s.syncs.Load() != begun+1 {
			t.Errorf("%d acknowledged before the sync, of which there are %d", acked.Load(), s.syncs.Load()-begun)
		}
		s.block <- struct{}{} // for the first, and those that came before it began
		synctest.Wait()
		want := begun + 1
		if acked.Load() < writers {
			want++
			s.block <- struct{}{} // for all the others
			synctest.Wait()
		}
		if got := s.syncs.Load(); acked.Load() != writers || got != want {
			t.Errorf("%d acknowledged with %d syncs, want %d", acked.Load(), got-begun, want-begun)
		}
		close(s.block)
		ok(t, l.Close())
	})
}

func TestIntervalSyncsEveryDWhileThereIsSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{system: newMemory()}
		l := must[*Log[event]](t)(Create[event](memPath, withSystem(s), Interval(time.Second)))
		begun := s.syncs.Load()
		for range 3 {
			fillLog(t, l, 5)
			time.Sleep(time.Second)
			synctest.Wait()
			if l.core.durable.Load() != l.Len() {
				t.Errorf("%d of %d records durable after d", l.core.durable.Load(), l.Len())
			}
		}
		time.Sleep(time.Hour)
		if got := s.syncs.Load() - begun; got != 3 {
			t.Errorf("%d syncs, want 3", got)
		}
		ok(t, l.Close())
	})
}

// P10
func TestP10AppendAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("skipped: the race detector allocates")
	}
	l := must[*Log[event]](t)(Create[event](newPath(t)))
	chunk := make([]event, 50)
	must[uint64](t)(l.Append(chunk...))
	if n := testing.AllocsPerRun(1000, func() {
		l.Append(event{ID: 1})
		l.Append(chunk...)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	ok(t, l.Close())
}

// Of two calls one syncs, and the other one waits for that, when Close begins: both
// have begun, and are finished.
func TestCloseFinishesAppendsThatWaitForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{system: newMemory()}
		l := must[*Log[event]](t)(Create[event](memPath, withSystem(s), EverySync))
		s.block = make(chan struct{})
		appended := make(chan error, 2)
		for i := range uint64(2) {
			go func() {
				_, err := l.Append(eventOf(i))
				appended <- err
			}()
			synctest.Wait()
		}
		closed := make(chan error)
		go func() { closed <- l.Close() }()
		synctest.Wait()
		close(s.block)
		for range 2 {
			if err := <-appended; err != nil {
				t.Errorf("Append: %v", err)
			}
		}
		ok(t, <-closed)
		if _, err := l.Append(eventOf(2)); !errors.Is(err, ErrClosed) {
			t.Errorf("Append after Close: %v", err)
		}
		l = must[*Log[event]](t)(Open[event](memPath, withSystem(s)))
		wantEvents(t, l, 0, 2)
		ok(t, l.Close())
	})
}

// It is for the race detector: what Sync writes of the header changes meanwhile.
func TestSyncBesideAWriter(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		l := must[*Log[event]](t)(Create[event](newPath(t), way))
		const syncs = 20
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for i := uint64(0); ; i++ {
				select {
				case <-stop:
					return
				default:
					must[uint64](t)(l.Append(eventOf(i)))
				}
			}
		}()
		for range syncs {
			for n := l.Len(); l.Len() == n; {
				runtime.Gosched()
			}
			ok(t, l.Sync())
		}
		close(stop)
		<-stopped
		wantEvents(t, l, 0, l.Len())
		ok(t, l.Close())
	})
}
