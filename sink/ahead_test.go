package sink

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
)

// slowly is a system whose files wait, or fail, when room is made in them.
type slowly struct {
	system
	gate  atomic.Pointer[chan struct{}] // Allocate waits for it, if it is not nil
	full  atomic.Bool
	calls atomic.Int32
}

type slowFile struct {
	file
	s *slowly
}

func (s *slowly) Open(path string, flag int) (file, error) {
	f, err := s.system.Open(path, flag)
	if err != nil {
		return nil, err
	}
	return slowFile{f, s}, nil
}

func (f slowFile) Allocate(off, n int64) error {
	f.s.calls.Add(1)
	if g := f.s.gate.Load(); g != nil {
		<-*g
	}
	if f.s.full.Load() {
		return syscall.ENOSPC
	}
	return f.file.Allocate(off, n)
}

// fillRoom appends until no more than left records have room.
func fillRoom(t testing.TB, l *Log[event], left uint64) {
	t.Helper()
	n := l.core.capacity.Load() - l.Len() - left
	recs := make([]event, n)
	for i := range recs {
		recs[i] = eventOf(l.Len() + uint64(i))
	}
	must[uint64](t)(l.Append(recs...))
}

// outgrown is a log that has just become so large that room is made ahead in it.
func outgrown(t testing.TB, s *slowly, path string) *Log[event] {
	t.Helper()
	l := must[*Log[event]](t)(Create[event](path, withSystem(s)))
	if !l.core.mapped {
		t.Skip("skipped: files cannot be mapped here")
	}
	for l.core.capacity.Load() <= leastGrowth/32 {
		fillRoom(t, l, 0)
		fillLog(t, l, 1)
	}
	return l
}

// A log that is small takes its first step, and no more, of the disk.
func TestASmallLogMakesNoRoomAhead(t *testing.T) {
	l := must[*Log[event]](t)(Create[event](newPath(t)))
	for range 2 {
		fillLog(t, l, 10)
		l.core.helping.Wait()
		if got, want := l.core.allocated, int64(l.core.geo.header+leastGrowth); got != want {
			t.Errorf("%d bytes are allocated with %d records, want %d", got, l.Len(), want)
		}
	}
	ok(t, l.Close())
}

// A writer that stays behind what has been made ahead never waits for the disk.
func TestRoomIsMadeAheadOfTheWriters(t *testing.T) {
	s := &slowly{system: host}
	l := outgrown(t, s, newPath(t))
	for range 20 {
		l.core.helping.Wait()
		room := l.core.capacity.Load() - l.Len()
		if room < l.core.ahead() {
			t.Fatalf("room for %d records behind %d, want %d", room, l.Len(), l.core.ahead())
		}
		shut := make(chan struct{})
		s.gate.Store(&shut) // who makes room now waits: a writer does not
		fillRoom(t, l, 1)
		s.gate.Store(nil)
		close(shut)
	}
	l.core.helping.Wait()
	if size := must[int64](t)(l.core.f.Size()); size > l.core.geo.end(l.Len())+2*mostGrowth {
		t.Errorf("%d bytes for records that take %d", size, l.core.geo.end(l.Len()))
	}
	wantEvents(t, l, 0, l.Len())
	ok(t, l.Close())
}

// P5: Close returns when whoever makes room has ended, and not before.
func TestP5CloseWaitsForWhoMakesRoom(t *testing.T) {
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		s := &slowly{system: host}
		l := outgrown(t, s, path)
		synctest.Wait()
		shut := make(chan struct{})
		s.gate.Store(&shut)
		calls := s.calls.Load()
		fillRoom(t, l, 1)
		synctest.Wait()
		if s.calls.Load() != calls+1 {
			t.Fatalf("%d calls make room, want 1", s.calls.Load()-calls)
		}
		closed := make(chan error, 1)
		go func() { closed <- l.Close() }()
		synctest.Wait()
		if len(closed) != 0 {
			t.Error("Close has returned before")
		}
		s.gate.Store(nil)
		close(shut)
		ok(t, <-closed)
		if s.calls.Load() != calls+1 {
			t.Error("room was made for a closed log")
		}
	})
}

// The same for one that has not come as far as to begin.
func TestP5CloseWaitsForWhoIsAboutToMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := must[*Log[event]](t)(Create[event](memPath, withSystem(newMemory())))
		begun := make(chan struct{})
		l.core.helping.Go(func() { <-begun })
		closed := make(chan error, 1)
		go func() { closed <- l.Close() }()
		if synctest.Wait(); len(closed) != 0 {
			t.Error("Close has returned before")
		}
		close(begun)
		ok(t, <-closed)
	})
}

// C78: that the disk is full is no error before the room is needed, and none any more
// when there is room again.
func TestC78DiskThatIsFullAheadIsNoErrorYet(t *testing.T) {
	s := &slowly{system: host}
	l := outgrown(t, s, newPath(t))
	l.core.helping.Wait()
	s.full.Store(true)
	fillRoom(t, l, 1)
	fillLog(t, l, 1)
	l.core.helping.Wait()
	if _, err := l.Append(event{}); err == nil {
		t.Error("appended to a full disk")
	}
	wantEvents(t, l, 0, l.Len())
	s.full.Store(false)
	fillLog(t, l, 10)
	fillRoom(t, l, 0)
	wantEvents(t, l, 0, l.Len())
	ok(t, l.Close())
}

// sizing makes room once the size of a file has been looked at.
type sizing struct {
	file
	grow func()
}

func (f sizing) Size() (int64, error) {
	n, err := f.file.Size()
	f.grow()
	return n, err
}

// C77: a file that grows while somebody asks what a fault means has not been cut.
func TestC77FaultWhileRoomIsMadeIsNotCalledACutFile(t *testing.T) {
	l := must[*Log[event]](t)(Create[event](newPath(t)))
	fillLog(t, l, 1)
	l.core.helping.Wait() // else it may be making room here too
	whole := l.core.f
	l.core.f = sizing{whole, func() {
		l.core.f = whole
		room := l.core.capacity.Load()
		l.core.growing <- struct{}{}
		err := l.core.extend()
		<-l.core.growing
		if err != nil || l.core.capacity.Load() <= room {
			t.Errorf("no room was made: %v", err)
		}
	}}
	if err := l.core.fault(); errors.Is(err, ErrShrunk) {
		t.Error(err)
	}
	ok(t, l.Close())
}
