package sink

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

func TestP13FollowSeesARecordWhenItIsAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := must[*Log[event]](t)(Create[event](memPath, withSystem(newMemory())))
		fillLog(t, l, 2)
		ctx, cancel := context.WithCancel(t.Context())
		var seen []uint64
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for i, e := range l.FollowFrom(ctx, 1) {
				if e != eventOf(i) {
					t.Errorf("record %d is %v", i, e)
				}
				seen = append(seen, i)
			}
		}()
		synctest.Wait()
		for n := 2; n < 300; n++ {
			if len(seen) != n-1 {
				t.Fatalf("%d records seen, %d are there", len(seen), n)
			}
			fillLog(t, l, 1)
			synctest.Wait()
		}
		cancel()
		<-ended
		ended = make(chan struct{})
		go func() {
			defer close(ended)
			for range l.FollowFrom(t.Context(), 500) { // not there yet
				t.Error("a record")
			}
		}()
		synctest.Wait()
		ok(t, l.Close())
		<-ended // Close ends it
		if l.Err() != nil {
			t.Error(l.Err())
		}
	})
}

// Another open of the file, as another process has it, looks every PollEvery.
// C133: a file that has become shorter is told.
func TestP13FollowOfAnotherProcessPolls(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		path := newPath(t)
		synctest.Test(t, func(t *testing.T) {
			l := must[*Log[event]](t)(Create[event](path, way))
			r := must[*Log[event]](t)(Open[event](path, ReadOnly(), PollEvery(50*time.Millisecond)))
			ctx, cancel := context.WithCancel(t.Context())
			var n atomic.Uint64
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for i, e := range r.Follow(ctx) {
					if i != n.Load() || e != eventOf(i) {
						t.Errorf("record %d is %v at %d", n.Load(), e, i)
					}
					n.Add(1)
				}
			}()
			for range 5 {
				fillLog(t, l, 200)
				time.Sleep(51 * time.Millisecond)
				synctest.Wait()
				if n.Load() != l.Len() || r.Len() != n.Load() {
					t.Errorf("%d records seen, Len is %d, want %d", n.Load(), r.Len(), l.Len())
				}
			}
			ok(t, l.Close()) // the writer may come back
			l = must[*Log[event]](t)(Open[event](path, way))
			fillLog(t, l, 1)
			time.Sleep(51 * time.Millisecond)
			synctest.Wait()
			if n.Load() != 1001 {
				t.Errorf("%d records seen after the writer has come back", n.Load())
			}
			ok(t, l.Close())
			ok(t, os.Truncate(path, 5000))
			<-ended
			cancel()
			if !errors.Is(r.Err(), ErrShrunk) {
				t.Errorf("Err of a file that was cut: %v", r.Err())
			}
			ok(t, r.Close())
		})
	})
}

// Readers run beside writers, and see each record whole.
func TestReadersBesideWritersSeeWholeRecordsInOrder(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		const n = 30_000
		path := newPath(t)
		l := must[*Log[event]](t)(Create[event](path, way, SegmentSize(minSegment)))
		other := must[*Log[event]](t)(Open[event](path, ReadOnly(), PollEvery(time.Millisecond)))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		follow := func(l *Log[event], done chan<- uint64) {
			next := uint64(0)
			for i, e := range l.Follow(ctx) {
				if i != next || e != eventOf(i) {
					t.Errorf("record %d is %v at %d", next, e, i)
					break
				}
				if next++; next == n {
					break
				}
			}
			done <- next
		}
		done := make(chan uint64, 2)
		go follow(l, done)
		go follow(other, done)
		for l.Len() < n {
			recs := make([]event, 1+l.Len()%7)
			for i := range recs {
				recs[i] = eventOf(l.Len() + uint64(i))
			}
			must[uint64](t)(l.Append(recs...))
		}
		for range 2 {
			if got := <-done; got < n {
				t.Errorf("%d records seen; %v, %v", got, l.Err(), other.Err())
			}
		}
		ok(t, other.Close())
		ok(t, l.Close())
	})
}

// A record that is damaged while the log is open ends the loop at its block.
func TestDamageIsFoundWhenItIsRead(t *testing.T) {
	path := newPath(t)
	l := must[*Log[event]](t)(Create[event](path))
	fillLog(t, l, 1000)
	ok(t, l.Close())
	for _, opts := range [][]LogOption{nil, {ReadOnly()}} {
		l = must[*Log[event]](t)(Open[event](path, opts...))
		f := must[*os.File](t)(os.OpenFile(path, os.O_RDWR, 0))
		at := l.core.geo.offset(300)
		var b [1]byte
		must[int](t)(f.ReadAt(b[:], at))
		must[int](t)(f.WriteAt([]byte{^b[0]}, at))
		n := uint64(0)
		for i, e := range l.Records() {
			if e != eventOf(i) {
				t.Errorf("record %d is %v", i, e)
			}
			n++
		}
		var where *CorruptError
		if !errors.As(l.Err(), &where) || !errors.Is(l.Err(), ErrCorrupt) || n != where.Record || n > 300 || n < 200 {
			t.Errorf("%d records, then %v", n, l.Err())
		}
		if _, err := stage.Count(t.Context(), Read(l, 0)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("as a stream: %v", err)
		}
		must[int](t)(f.WriteAt(b[:], at))
		ok(t, f.Close())
		ok(t, l.Close())
	}
	// Found by Open too, and named.
	img := must[[]byte](t)(os.ReadFile(path))
	img[geometryOf(32).offset(10)] ^= 1
	ok(t, os.WriteFile(path, img, 0o600))
	var where *CorruptError
	if _, err := Open[event](path); !errors.As(err, &where) || where.Record > 10 {
		t.Errorf("%v", err)
	}
}

func TestWriteAppendsInOrderUpToTheFirstError(t *testing.T) {
	l := must[*Log[event]](t)(Create[event](newPath(t)))
	events := make([]event, 1000)
	for i := range events {
		events[i] = eventOf(uint64(i))
	}
	bad := errors.New("bad")
	in := stage.Concat(stage.FromSlice(events), stage.Failed[event](bad), stage.Of(event{}))
	if err := Write(t.Context(), in, l); !errors.Is(err, bad) {
		t.Error(err)
	}
	wantEvents(t, l, 0, 1000)
	got := must[[]event](t)(stage.Collect(t.Context(), Read(l, 990)))
	if len(got) != 10 || got[9] != eventOf(999) {
		t.Errorf("read %d", len(got))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(bad)
	if err := Write(ctx, stage.FromSlice(events), l); !errors.Is(err, bad) || l.Len() != 1000 {
		t.Errorf("%v, %d records", err, l.Len())
	}
	ok(t, l.Close())
	if err := Write(t.Context(), stage.FromSlice(events), l); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestDroppedWhileItIsRead(t *testing.T) {
	l := must[*Log[event]](t)(Create[event](newPath(t)))
	fillLog(t, l, 5000)
	for i := range l.Records() {
		if i == 10 {
			ok(t, l.Drop(4000))
		}
	}
	if !errors.Is(l.Err(), ErrDropped) {
		t.Error(l.Err())
	}
	ok(t, l.Close())
}

// What another process drops while it is followed is told from what is damaged.
func TestDroppedByAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		l := must[*Log[event]](t)(Create[event](memPath, withSystem(m)))
		fillLog(t, l, 500)
		known := must[*Log[event]](t)(Open[event](memPath, withSystem(m), ReadOnly()))
		late := must[*Log[event]](t)(Open[event](memPath, withSystem(m), ReadOnly()))
		ended := make(chan struct{})
		go func() { // has seen all, and waits
			defer close(ended)
			for i := range late.FollowFrom(t.Context(), 499) {
				if i != 499 {
					t.Errorf("record %d", i)
				}
			}
		}()
		synctest.Wait()
		fillLog(t, l, 500)
		ok(t, l.Drop(1000))
		time.Sleep(time.Minute)
		<-ended
		for i := range known.Records() {
			t.Errorf("record %d", i)
			break
		}
		for _, r := range []*Log[event]{late, known} {
			if !errors.Is(r.Err(), ErrDropped) {
				t.Errorf("Err: %v", r.Err())
			}
			ok(t, r.Close())
		}
		ok(t, l.Close())
	})
}

// To follow is not to know that a record is on the disk: that is what Append waits for.
func TestP13FollowSeesARecordBeforeItIsOnTheDisk(t *testing.T) {
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{system: host, freed: make(chan struct{})}
		l := must[*Log[event]](t)(Create[event](path, withSystem(s), EverySync))
		s.hangs.Store(true)
		var appended, seen atomic.Int32
		go func() {
			if _, err := l.Append(eventOf(0)); !errors.Is(err, errDisk) {
				t.Errorf("Append: %v", err)
			}
			appended.Add(1)
		}()
		go func() {
			for range l.Follow(t.Context()) {
				seen.Add(1)
			}
		}()
		synctest.Wait()
		if appended.Load() != 0 || seen.Load() != 1 {
			t.Errorf("%d acknowledged, %d seen", appended.Load(), seen.Load())
		}
		close(s.freed)
		if err := l.Close(); !errors.Is(err, errDisk) {
			t.Errorf("Close: %v", err)
		}
	})
}

// watched runs something before and after each read of a file.
type watched struct {
	system
	before func(off int64)
	after  func()
}

type watchedFile struct {
	file
	s *watched
}

func (s *watched) Open(path string, flag int) (file, error) {
	f, err := s.system.Open(path, flag)
	return watchedFile{f, s}, err
}

func (f watchedFile) ReadAt(b []byte, off int64) (int, error) {
	if f.s.before != nil {
		f.s.before(off)
	}
	n, err := f.file.ReadAt(b, off)
	if f.s.after != nil {
		f.s.after()
	}
	return n, err
}

// A block that is looked at again and again, since it always has become fuller, and more of
// it durable, is no damaged one.
func TestBlockThatIsSyncedWhileItIsReadIsNotDamaged(t *testing.T) {
	for name, sys := range map[string]system{"mapped": host, "plain": plain{host}} {
		s := &watched{system: sys}
		l := must[*Log[event]](t)(Create[event](newPath(t), withSystem(s)))
		fillLog(t, l, 3)
		looks := 0
		s.after = func() {
			if looks++; looks < 50 {
				fillLog(t, l, 1)
				ok(t, l.Sync())
			}
		}
		next := uint64(0)
		for i, e := range l.Records() {
			if i != next || e != eventOf(i) {
				t.Fatalf("record %d is %v at place %d", next, e, i)
			}
			next++
		}
		if l.Err() != nil || next != l.Len() || next < 50 {
			t.Errorf("%s: read up to %d of %d, Err is %v", name, next, l.Len(), l.Err())
		}
		s.after = nil
		ok(t, l.Close())
	}
}

// What is needed to judge a block is there when the log is closed, or the file cut, between
// reading the block and judging it.
func TestDamagedBlockOfALogThatIsClosedOrCutMeanwhile(t *testing.T) {
	for name, sys := range map[string]system{"mapped": host, "plain": plain{host}} {
		for what, do := range map[string]func(l *Log[event], path string){
			"closed": func(l *Log[event], _ string) { ok(t, l.Close()) },
			"cut":    func(_ *Log[event], path string) { ok(t, os.Truncate(path, 0)) },
		} {
			s := &watched{system: sys}
			path := newPath(t)
			l := must[*Log[event]](t)(Create[event](path, withSystem(s)))
			fillLog(t, l, 3)
			f := must[*os.File](t)(os.OpenFile(path, os.O_WRONLY, 0))
			must[int](t)(f.WriteAt([]byte{0xff}, l.core.geo.offset(1)))
			ok(t, f.Close())
			s.after = func() {
				s.after = nil
				do(l, path)
			}
			for i := range l.Records() {
				if i > 0 {
					t.Errorf("%s, %s: record %d", name, what, i)
				}
			}
			if l.Err() == nil {
				t.Errorf("%s, %s: no error", name, what)
			}
			l.Close()
		}
	}
}
