package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

var errDisk = errors.New("disk error")

// life uses every method of a log, and returns how many records were acknowledged
// and how many synced, with the first error of each step joined. It goes on after
// an error, as a careless caller would.
func life(t *testing.T, s system, path string) (acked, synced uint64, err error) {
	var errs []error
	note := func(err error) bool {
		errs = append(errs, err)
		return err == nil
	}
	l, err := Create[event](path, withSystem(s))
	if !note(err) {
		if l, err = Open[event](path, withSystem(s)); !note(err) {
			return 0, 0, errors.Join(errs...)
		}
	}
	appends := func(n int) {
		recs := make([]event, n)
		for i := range recs {
			recs[i] = eventOf(l.Len() + uint64(i))
		}
		if first, err := l.Append(recs...); note(err) {
			acked = first + uint64(n)
		}
	}
	appends(3)
	if note(l.Sync()) {
		synced = acked
	}
	appends(3000) // grows the file
	if note(l.Drop(500)) {
		synced = max(synced, min(500, acked))
	}
	for range l.Records() {
	}
	note(l.Err())
	for i := range l.Len() {
		if i%1000 == 0 {
			appends(1)
		}
	}
	if note(l.Close()) {
		synced = acked
	}
	if !errors.Is(l.Close(), l.core.closeErr) && l.core.closeErr != nil {
		t.Error("a second Close says something else")
	}
	if l, err = Open[event](path, withSystem(s)); !note(err) {
		return acked, synced, errors.Join(errs...)
	}
	appends(2)
	if note(l.Close()) {
		synced = acked
	}
	return acked, synced, errors.Join(errs...)
}

// C81, C93: each system call in the life of a log fails once. Every method
// returns, the error comes out somewhere, nothing stays open or mapped, and what
// was synced is there when the disk works again.
func TestEachSystemCallMayFailOnce(t *testing.T) {
	for name, on := range map[string]func() system{
		"mapped": func() system { return newMemory() },
		"plain":  func() system { return plain{newMemory()} },
	} {
		for _, fault := range []error{errDisk, syscall.ENOSPC} {
			if raceEnabled && (name == "mapped") == (fault == errDisk) {
				t.Logf("%s, %v: not with the race detector, which sees what it can in the others", name, fault)
				continue
			}
			t.Run(fmt.Sprint(name, ", ", fault), func(t *testing.T) {
				failedCalls := map[string]int{}
				for at := 1; ; at++ {
					s := newFaulty(on(), at, fault)
					acked, synced, err := life(t, s, memPath)
					if s.failed == "" {
						if err != nil {
							t.Fatalf("without a fault: %v", err)
						}
						break
					}
					failedCalls[s.failed]++
					retried := s.failed == "allocate" && fault == syscall.ENOSPC || s.failed == "link"
					if !errors.Is(err, fault) && !retried && s.failed != "unmap" {
						t.Errorf("call %d, %s: nobody heard of it: %v", at, s.failed, err)
					}
					for what, n := range s.open {
						if n != 0 {
							t.Errorf("call %d, %s: %d %s left open", at, s.failed, n, what)
						}
					}
					l, err := Open[event](memPath, withSystem(s.system))
					if errors.Is(err, fs.ErrNotExist) && synced == 0 && acked == 0 {
						continue
					}
					if err != nil {
						t.Fatalf("call %d, %s: opened again: %v", at, s.failed, err)
					}
					if l.Len() < max(acked, synced) {
						t.Errorf("call %d, %s: %d records, %d acknowledged, %d synced", at, s.failed, l.Len(), acked, synced)
					}
					wantEvents(t, l, l.First(), l.Len())
					ok(t, l.Close())
				}
				t.Log(failedCalls)
				for _, call := range []string{"open", "link", "remove", "syncdir", "read", "write", "size", "truncate", "allocate", "map", "sync", "lock", "punch", "close"} {
					if failedCalls[call] == 0 && !(call == "map" && name == "plain") {
						t.Errorf("%s never failed", call)
					}
				}
			})
		}
	}
}

// A sync that fails may have lost what it was to write, and the next one would say
// that all is well.
func TestFailedSyncIsTheEndOfTheLog(t *testing.T) {
	m := newMemory()
	s := newFaulty(m, 0, errDisk)
	l := must[*Log[event]](t)(Create[event](memPath, withSystem(s)))
	fillLog(t, l, 3)
	ok(t, l.Sync())
	fillLog(t, l, 3)
	s.only, s.calls, s.failAt = "sync", 0, 1
	for range 2 {
		if err := l.Sync(); !errors.Is(err, errDisk) {
			t.Errorf("Sync: %v", err)
		}
	}
	if _, err := l.Append(event{}); !errors.Is(err, errDisk) {
		t.Errorf("Append: %v", err)
	}
	if err := l.Drop(1); !errors.Is(err, errDisk) {
		t.Errorf("Drop: %v", err)
	}
	wantEvents(t, l, 0, 6) // can still be read
	if err := l.Close(); !errors.Is(err, errDisk) {
		t.Errorf("Close: %v", err)
	}
}

// C78: a full disk is an error of Append, what was there stays, and when there is
// room again the log goes on.
func TestC78FullDiskIsAnErrorAndTheLogGoesOnWhenThereIsRoom(t *testing.T) {
	l := must[*Log[event]](t)(Create[event](memPath, withSystem(newMemory())))
	fillLog(t, l, 3)
	full := l.core.capacity.Load() - l.Len()
	recs := make([]event, full+1)
	for i := range recs {
		recs[i] = eventOf(3 + uint64(i))
	}
	for range 2 {
		whole := l.core.f
		l.core.f = noRoom{whole}
		if _, err := l.Append(recs...); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("full disk: %v", err)
		}
		l.core.f = whole
		wantEvents(t, l, 0, 3)
	}
	must[uint64](t)(l.Append(recs...))
	wantEvents(t, l, 0, 3+uint64(len(recs)))
	ok(t, l.Close())
}

type noRoom struct{ file }

func (noRoom) Allocate(int64, int64) error { return syscall.ENOSPC }

// cut makes the log's file shorter, not just while the log makes it longer: then the
// log would not see it.
func cut(t *testing.T, l *Log[event], path string, size int64) {
	l.core.growing <- struct{}{}
	ok(t, os.Truncate(path, size))
	<-l.core.growing
}

// C77: somebody cuts the file under a writer. The next append is an error, and
// every method returns.
func TestC77FileCutUnderTheWriterIsAnError(t *testing.T) {
	path := newPath(t)
	l := must[*Log[event]](t)(Create[event](path))
	fillLog(t, l, 1000)
	cut(t, l, path, 0)
	done := make(chan error, 4)
	for range cap(done) {
		go func() {
			_, err := l.Append(make([]event, 1000)...)
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; !l.core.mapped && err == nil {
			continue
		} else if !errors.Is(err, ErrShrunk) {
			t.Errorf("Append: %v", err)
		}
	}
	if _, err := l.Append(event{}); !errors.Is(err, ErrShrunk) {
		t.Errorf("Append: %v", err)
	}
	for range l.Records() {
	}
	if l.Err() == nil {
		t.Error("read without an error")
	}
	if err := l.Sync(); !errors.Is(err, ErrShrunk) {
		t.Errorf("Sync: %v", err)
	}
	if err := l.Close(); !errors.Is(err, ErrShrunk) {
		t.Errorf("Close: %v", err)
	}
}

// C77, for Sync and for one who only reads.
func TestC77FileCutUnderSyncOrAReaderIsAnError(t *testing.T) {
	path := newPath(t)
	l := must[*Log[event]](t)(Create[event](path))
	fillLog(t, l, 1000)
	r := must[*Log[event]](t)(Open[event](path, ReadOnly()))
	wantEvents(t, r, 0, 1000)
	cut(t, l, path, 10)
	if err := l.Sync(); !errors.Is(err, ErrShrunk) {
		t.Errorf("Sync: %v", err)
	}
	seen := 0
	for range r.Follow(t.Context()) {
		seen++
	}
	if seen != 0 || r.Err() == nil {
		t.Errorf("%d records seen, %v", seen, r.Err())
	}
	l.Close()
	ok(t, r.Close())
}

// C83: records of every size up to a page and one byte, over several growths.
func TestC83RecordsOfEverySizeCrossTheEdges(t *testing.T) {
	dir := fastDir(t)
	for _, size := range []int{1, 2, 3, 5, 7, 8, 12, 31, 32, 33, 100, 255, 511, 1000, 2033, 4063, 4064, 4065, 4095, 4096, 4097} {
		path := filepath.Join(dir, fmt.Sprint(size))
		lay := layout{size, fmt.Sprintf("[%d]uint8", size)}
		conf := configureLog("test", []LogOption{SegmentSize(minSegment)})
		l := must[*core](t)(create(path, conf, lay))
		n := 3 + 2*(100/size) // records at a time, an odd number
		rec := make([]byte, n*size)
		growths := 3 * uint64(l.segBytes) / uint64(size) // records that three segments do not hold
		for i := uint64(0); i < growths; i += uint64(n) {
			for k := range rec {
				rec[k] = byte(i) + byte(k)
			}
			must[uint64](t)(l.append(rec, uint64(n)))
			if i/uint64(n)%30 == 0 {
				if got := must[int64](t)(l.f.Size()); got < l.geo.end(l.visible()) {
					t.Fatalf("size %d: file of %d bytes for %d", size, got, l.geo.end(l.visible()))
				}
			}
		}
		end := l.visible()
		ok(t, l.close())
		l = must[*core](t)(open(path, conf, lay))
		at := uint64(0)
		for r := l.reader(0); ; {
			first, got, err := r.more()
			ok(t, err)
			if len(got) == 0 {
				break
			}
			for k := range got {
				i := first + uint64(k/size)
				at := i % uint64(n) // within what was appended with it
				if want := byte(i-at) + byte(int(at)*size+k%size); got[k] != want {
					t.Fatalf("size %d, record %d: byte %d is %d, want %d", size, i, k%size, got[k], want)
				}
			}
			at = r.next
		}
		if at != end || end == 0 {
			t.Errorf("size %d: %d records of %d", size, at, end)
		}
		ok(t, l.close())
	}
}

// C78, for real: a file system of 1 MiB.
func TestC78RealFullDisk(t *testing.T) {
	dir := smallDisk(t, 1<<20)
	_, err := Create[event](dir+"/none/log", SegmentSize(4<<20))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	l := must[*Log[event]](t)(Create[event](dir+"/log", SegmentSize(4<<20)))
	for err == nil || errors.Is(err, fs.ErrNotExist) {
		_, err = l.Append(eventOf(l.Len()))
	}
	if !errors.Is(err, syscall.ENOSPC) || l.Len() < 20_000 {
		t.Errorf("%d records, then %v", l.Len(), err)
	}
	wantEvents(t, l, 0, l.Len())
	n := l.Len()
	ok(t, l.Close())
	l = must[*Log[event]](t)(Open[event](dir + "/log"))
	wantEvents(t, l, 0, n)
	ok(t, l.Close())
}

// As a failed Sync is, when nobody has called it: everything that comes after it returns
// its error, what was acknowledged until then is what a killed process leaves, and the
// disk is not asked again.
func TestFailedSyncOfIntervalIsTheEndOfTheLog(t *testing.T) {
	for _, call := range []string{"sync", "write", "size"} { // of the data, of the checkpoint, before both
		for name, on := range map[string]func() system{
			"mapped": func() system { return newMemory() },
			"plain":  func() system { return plain{newMemory()} },
		} {
			t.Run(call+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := on()
					s := newFaulty(m, 0, errDisk)
					l := must[*Log[event]](t)(Create[event](memPath, withSystem(s), Interval(time.Second)))
					fillLog(t, l, 3)
					time.Sleep(time.Second)
					synctest.Wait()
					if n := l.core.durable.Load(); n != 3 {
						t.Fatalf("%d records are durable after d", n)
					}
					fillLog(t, l, 2)
					s.mu.Lock()
					s.only, s.calls, s.failAt = call, 0, 1
					s.mu.Unlock()
					if call != "write" || name == "mapped" { // else Append would be what fails
						fillLog(t, l, 1)
					}
					seen, ended := uint64(0), make(chan struct{})
					go func() {
						defer close(ended)
						for range l.Follow(t.Context()) {
							seen++
						}
					}()
					time.Sleep(time.Second)
					synctest.Wait()
					acked := l.Len()
					for range 2 {
						if _, err := l.Append(eventOf(acked)); !errors.Is(err, errDisk) {
							t.Errorf("Append: %v", err)
						}
						if err := l.Sync(); !errors.Is(err, errDisk) {
							t.Errorf("Sync: %v", err)
						}
						if err := l.Drop(1); !errors.Is(err, errDisk) {
							t.Errorf("Drop: %v", err)
						}
					}
					s.mu.Lock()
					calls := s.calls
					s.mu.Unlock()
					time.Sleep(time.Hour)
					s.mu.Lock()
					if s.calls != calls {
						t.Errorf("%d calls more", s.calls-calls)
					}
					s.mu.Unlock()
					wantEvents(t, l, 0, acked) // can still be read
					for range 2 {
						if err := l.Close(); !errors.Is(err, errDisk) {
							t.Errorf("Close: %v", err)
						}
					}
					<-ended
					if seen != acked {
						t.Errorf("%d records followed, of %d", seen, acked)
					}
					for what, n := range s.open {
						if n != 0 {
							t.Errorf("%d %s left open", n, what)
						}
					}
					if _, err := l.Append(eventOf(acked)); !errors.Is(err, errDisk) {
						t.Errorf("Append after Close: %v", err)
					}
					l = must[*Log[event]](t)(Open[event](memPath, withSystem(m)))
					wantEvents(t, l, 0, acked)
					ok(t, l.Close())
				})
			})
		}
	}
}

// stuck is a system whose syncs, once it hangs, fail when it is freed.
type stuck struct {
	system
	hangs atomic.Bool
	freed chan struct{}
}

type stuckFile struct {
	file
	s *stuck
}

func (s *stuck) Open(path string, flag int) (file, error) {
	f, err := s.system.Open(path, flag)
	return stuckFile{f, s}, err
}

func (f stuckFile) Sync() error {
	if f.s.hangs.Load() {
		<-f.s.freed
		return errDisk
	}
	return f.file.Sync()
}

// What is appended while the Sync that will fail is under way is acknowledged, as it
// survives the process; and Close, called meanwhile, returns the error.
func TestAppendWhileTheSyncOfIntervalFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s := &stuck{system: m, freed: make(chan struct{})}
		l := must[*Log[event]](t)(Create[event](memPath, withSystem(s), Interval(time.Second)))
		fillLog(t, l, 3)
		s.hangs.Store(true)
		time.Sleep(time.Second)
		synctest.Wait()
		fillLog(t, l, 3)
		closed := make(chan error)
		go func() { closed <- l.Close() }()
		synctest.Wait()
		if _, err := l.Append(eventOf(6)); !errors.Is(err, ErrClosed) {
			t.Errorf("Append beside Close: %v", err)
		}
		close(s.freed)
		if err := <-closed; !errors.Is(err, errDisk) {
			t.Errorf("Close: %v", err)
		}
		if _, err := l.Append(eventOf(6)); !errors.Is(err, errDisk) {
			t.Errorf("Append after Close: %v", err)
		}
		l = must[*Log[event]](t)(Open[event](memPath, withSystem(m)))
		wantEvents(t, l, 0, 6)
		ok(t, l.Close())
	})
}
