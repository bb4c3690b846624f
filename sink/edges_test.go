package sink

import (
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// Every bit of the header of a log that has dropped records is flipped. The records that
// are left are there, or Open says what is wrong: that they look as if they had never
// been is neither.
func TestFlippedBitInTheHeaderDoesNotLoseWhatWasNotDropped(t *testing.T) {
	const n, dropped = 1000, 700
	for name, end := range map[string]func(l *Log[event]){
		"killed":         func(*Log[event]) {},
		"synced":         func(l *Log[event]) { ok(t, l.Sync()) },
		"closed":         func(l *Log[event]) { ok(t, l.Close()) },
		"dropped before": func(l *Log[event]) { ok(t, l.Drop(dropped-300)); ok(t, l.Drop(dropped)) },
	} {
		img := image(t, func(l *Log[event]) {
			appendEvents(t, l, n)
			if name != "dropped before" {
				ok(t, l.Drop(dropped))
			}
			end(l)
		})
		img = img[:geometryOf(32).end(n)]
		m := newMemory()
		m.show(memPath, img)
		for i := 0; i < 8*fineOffset; i += everyBit {
			img[i/8] ^= 1 << (i % 8)
			l, err := Open[event](memPath, withSystem(m), ReadOnly())
			img[i/8] ^= 1 << (i % 8)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotLog) && !errors.Is(err, ErrLayout) {
					t.Fatalf("%s, bit %d: %v", name, i, err)
				}
				continue
			}
			if l.First() != dropped || l.Len() != n {
				t.Fatalf("%s, bit %d: records %d to %d; recovered %v", name, i, l.First(), l.Len(), l.Recovery())
			}
			ok(t, l.Close())
		}
	}
}

// everyBit is everyByte for what takes longer.
const everyBit = 1 + 60*raced01

// C77: the file is cut between Open and the first Append, Sync or Close.
func TestC77FileCutBeforeTheFirstAppendIsAnError(t *testing.T) {
	for name, do := range map[string]func(l *Log[event]) error{
		"Append": func(l *Log[event]) error { _, err := l.Append(event{}); return err },
		"Drop":   func(l *Log[event]) error { return l.Drop(10) },
		"Close":  func(l *Log[event]) error { return nil },
	} {
		everyWay(t, func(t *testing.T, way LogOption) {
			path := newPath(t)
			l := must[*Log[event]](t)(Create[event](path, way))
			fillLog(t, l, 1000)
			ok(t, l.Close())
			l = must[*Log[event]](t)(Open[event](path, way))
			ok(t, os.Truncate(path, 100))
			if err := do(l); name != "Close" && !errors.Is(err, ErrShrunk) {
				t.Errorf("%s: %v", name, err)
			}
			if err := l.Close(); !errors.Is(err, ErrShrunk) {
				t.Errorf("%s, then Close: %v", name, err)
			}
			if size := must[os.FileInfo](t)(os.Stat(path)).Size(); size != 100 {
				t.Errorf("%s: the file has been made %d bytes long", name, size)
			}
		})
	}
}

// A file that was cut to less than what had been dropped: the log goes on behind what
// there is, and what is appended can be read.
func TestFileCutBelowWhatWasDroppedGoesOn(t *testing.T) {
	path := newPath(t)
	l := must[*Log[event]](t)(Create[event](path))
	fillLog(t, l, 1000)
	ok(t, l.Drop(700))
	ok(t, l.Close())
	for range 2 {
		ok(t, os.Truncate(path, int64(l.core.geo.header)))
		l = must[*Log[event]](t)(Open[event](path))
		if l.First() > l.Len() {
			t.Errorf("records %d to %d", l.First(), l.Len())
		}
		n := l.Len()
		fillLog(t, l, 10)
		wantEvents(t, l, n, n+10)
		ok(t, l.Close())
	}
}

// C23
func TestC23SyncAfterCloseSaysSo(t *testing.T) {
	l := must[*Log[event]](t)(Create[event](newPath(t)))
	fillLog(t, l, 3)
	ok(t, l.Close())
	if err := l.Sync(); !errors.Is(err, ErrClosed) {
		t.Errorf("Sync: %v", err)
	}
	if err := l.Drop(1); !errors.Is(err, ErrClosed) {
		t.Errorf("Drop: %v", err)
	}
}

// C86: a record that was synced and is damaged is an error, not the end of the log; and
// nothing behind it is cut off.
func TestC86DamagedRecordThatWasSyncedIsAnErrorAndNothingIsCut(t *testing.T) {
	for name, later := range map[string]func(l *Log[event]){
		"all synced":   func(*Log[event]) {},
		"some written": func(l *Log[event]) { fillLog(t, l, 30) },
	} {
		img := image(t, func(l *Log[event]) {
			fillLog(t, l, 300)
			ok(t, l.Sync())
			later(l)
		})
		img = img[:geometryOf(32).end(300)+1000]
		for i := uint64(0); i < 300; i += everyBit {
			damaged := append([]byte(nil), img...)
			damaged[geometryOf(32).offset(i)+int64(i%32)] ^= 1 << (i % 8)
			m := newMemory()
			m.put(memPath, damaged)
			var where *CorruptError
			if _, err := Open[event](memPath, withSystem(m)); !errors.As(err, &where) || where.Record > i {
				t.Fatalf("%s, record %d: %v", name, i, err)
			}
			if string(m.get(memPath)) != string(damaged) {
				t.Fatalf("%s, record %d: the file was changed", name, i)
			}
		}
	}
}

// A block that got to the disk although the one before it did not is cut off, and does
// not come back when the log has grown up to it again.
func TestWhatWasCutOffDoesNotComeBack(t *testing.T) {
	geo := geometryOf(32)
	per := int(geo.per)
	img := image(t, func(l *Log[event]) { appendEvents(t, l, 3*per) })
	clear(img[geo.blockOffset(1):geo.blockOffset(2)])
	m := newMemory()
	m.put(memPath, img)
	l := must[*Log[event]](t)(Open[event](memPath, withSystem(m)))
	if r := l.Recovery(); l.Len() != geo.per || r.Cut != geo.per {
		t.Fatalf("recovered %v", r)
	}
	appendEvents(t, l, per)
	m.put(memPath, m.get(memPath)) // killed
	l = must[*Log[event]](t)(Open[event](memPath, withSystem(m)))
	wantEvents(t, l, 0, 2*geo.per)
	ok(t, l.Close())
}

// atPunch is a system that keeps what is durable of the log when a part of it is about
// to be given back.
type atPunch struct {
	*memory
	left [][]byte
}

type atPunchFile struct {
	file
	s *atPunch
}

func (s *atPunch) Open(path string, flag int) (file, error) {
	f, err := s.memory.Open(path, flag)
	return atPunchFile{f, s}, err
}

func (f atPunchFile) Punch(off, n int64) error {
	img := f.s.cutTo(memPath)
	clear(img[off : off+n]) // which may get to the disk at once
	f.s.left = append(f.s.left, img)
	return f.file.Punch(off, n)
}

// What is dropped is known to be, on the disk and in both checkpoints, before a block is
// emptied.
func TestDropIsDurableBeforeABlockIsEmptied(t *testing.T) {
	s := &atPunch{memory: newMemory()}
	l := must[*Log[event]](t)(Create[event](memPath, withSystem(s)))
	appendEvents(t, l, 1000)
	ok(t, l.Drop(300))
	ok(t, l.Drop(700))
	if len(s.left) != 2 {
		t.Fatalf("%d times a part was given back", len(s.left))
	}
	for i, first := range []uint64{300, 700} {
		for slot := range 3 { // the last one is none
			img := append([]byte(nil), s.left[i]...)
			img[checkpointOffset+slot*checkpointStride] ^= 1
			m := newMemory()
			m.put(memPath, img)
			l := must[*Log[event]](t)(Open[event](memPath, withSystem(m)))
			if l.First() != first {
				t.Errorf("drop %d, checkpoint %d damaged: the first record is %d, want %d", i, slot, l.First(), first)
			}
			wantEvents(t, l, first, l.Len())
		}
	}
}

// P5: the end of a run, or of a File, waits for a timer that has gone off, also if that
// has not come as far as to take its turn.
func TestP5EndWaitsForATimerThatHasJustGoneOff(t *testing.T) {
	for name, begin := range map[string]func(gate chan struct{}) (end func()){
		"text": func(gate chan struct{}) func() {
			x := newText(nil, io.Discard, textConfig{}, func(b []byte, _ int) ([]byte, error) { return b, nil })
			x.timer = time.AfterFunc(0, func() { <-gate; x.ring() })
			return x.release
		},
		"file": func(gate chan struct{}) func() {
			f := must[*File](t)(NewFile(filePath, onMemory(newMemory()), RotateEvery(time.Hour)))
			f.timer = time.AfterFunc(0, func() { <-gate; f.ring() })
			return func() { f.Close() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				end := begin(gate)
				synctest.Wait() // it has gone off
				ended := false
				go func() { end(); ended = true }()
				if synctest.Wait(); ended {
					t.Error("ended while the timer's function was about to run")
				}
				close(gate)
				if synctest.Wait(); !ended {
					t.Error("has not ended")
				}
			})
		})
	}
}

// snipping cuts a file to nothing each time it is mapped.
type snipping struct{ system }

type snippedFile struct {
	file
	path string
}

func (s snipping) Open(path string, flag int) (file, error) {
	f, err := s.system.Open(path, flag)
	return snippedFile{f, path}, err
}

func (f snippedFile) Map(off int64, n int) ([]byte, error) {
	m, err := f.file.Map(off, n)
	return m, errors.Join(err, os.Truncate(f.path, 0))
}

// C77, for Open: it has done with the header's memory before that may have no page.
func TestC77FileCutWhileItIsOpenedIsAnError(t *testing.T) {
	path := newPath(t)
	l := must[*Log[event]](t)(Create[event](path))
	fillLog(t, l, 10)
	ok(t, l.Close())
	l, err := Open[event](path, withSystem(snipping{host}))
	if err == nil {
		if _, err = l.Append(eventOf(10)); err == nil {
			err = l.Close()
		} else {
			l.Close()
		}
	}
	if !errors.Is(err, ErrShrunk) {
		t.Errorf("%v", err)
	}
}
