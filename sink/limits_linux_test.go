package sink

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// maps is how many maps the process has of files whose path contains part, and how
// many bytes they cover.
func mapsOf(t *testing.T, part string) (n int, bytes int64) {
	t.Helper()
	for line := range strings.Lines(string(must[[]byte](t)(os.ReadFile("/proc/self/maps")))) {
		if !strings.Contains(line, part) {
			continue
		}
		var from, to int64
		fmt.Sscanf(line, "%x-%x", &from, &to)
		n, bytes = n+1, bytes+to-from
	}
	return n, bytes
}

func openFiles(t *testing.T) int {
	t.Helper()
	return len(must[[]os.DirEntry](t)(os.ReadDir("/proc/self/fd")))
}

// C93: files and maps are given back, also when opening fails midway.
func TestC93NothingStaysOpenOrMapped(t *testing.T) {
	dir := fastDir(t)
	path := filepath.Join(dir, "log")
	ok(t, must[*Log[event]](t)(Create[event](path)).Close())
	small := SegmentSize(minSegment)
	held := must[*Log[event]](t)(Create[event](path + ".held"))
	ok(t, os.WriteFile(path+".bad", make([]byte, 10_000), 0o600))
	before := openFiles(t)
	mapsBefore, _ := mapsOf(t, dir)
	for i := range cycles(t, 600, 10_000) {
		switch i % 3 {
		case 0:
			l := must[*Log[event]](t)(Open[event](path, small))
			fillLog(t, l, 1)
			ok(t, l.Close())
			ok(t, l.Close())
			if i%300 == 0 {
				os.Remove(path)
				ok(t, must[*Log[event]](t)(Create[event](path)).Close())
			}
		case 1:
			if _, err := Open[event](path + ".held"); !errors.Is(err, ErrLocked) {
				t.Fatal(err)
			}
		case 2:
			if _, err := Open[event](path + ".bad"); !errors.Is(err, ErrNotLog) {
				t.Fatal(err)
			}
		}
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files open, %d before", after, before)
	}
	if after, _ := mapsOf(t, dir); after != mapsBefore {
		t.Errorf("%d maps, %d before", after, mapsBefore)
	}
	ok(t, held.Close())
}

// However long a log is, no more of it is mapped than its header and what is being
// written, so a 32-bit process can write one that is larger than its memory.
func TestAddressSpaceDoesNotGrowWithTheLog(t *testing.T) {
	dir := fastDir(t)
	path := filepath.Join(dir, "log")
	l := must[*Log[event]](t)(Create[event](path, SegmentSize(1<<20)))
	recs := make([]event, 1000)
	for l.Len()*32 < 40<<20 {
		must[uint64](t)(l.Append(recs...))
		// The segment that has just been left, the one that is written, and the one
		// that the writers will come to.
		if n, bytes := mapsOf(t, path); bytes > int64(l.core.geo.header)+3<<20 || n == 0 {
			t.Fatalf("%d bytes in %d maps after %d", bytes, n, l.Len()*32)
		}
	}
	ok(t, l.Close())
}

// pageless is a system whose maps cannot be written to: as on a disk that is broken.
type pageless struct{ system }

type pagelessFile struct{ file }

func (s pageless) Open(path string, flag int) (file, error) {
	f, err := s.system.Open(path, flag)
	if err != nil {
		return nil, err
	}
	return pagelessFile{f}, nil
}

func (f pagelessFile) Map(off int64, n int) ([]byte, error) {
	m, err := f.file.Map(off, n)
	if err == nil && n >= minSegment {
		err = unix.Mprotect(m, unix.PROT_READ)
	}
	return m, err
}

// C77: a fault is an error of every kind of call, and says that the file was cut only if
// it was.
func TestC77MapWithoutAPageIsAnErrorAndNotCalledACutFile(t *testing.T) {
	l := must[*Log[event]](t)(Create[event](newPath(t), withSystem(pageless{host})))
	if !l.core.mapped {
		t.Skip("skipped: files cannot be mapped here")
	}
	_, err := l.Append(make([]event, 300)...)
	for what, err := range map[string]error{"Append": err, "Append again": second(l.Append(event{})), "Sync": l.Sync(), "Drop": l.Drop(0), "Close": l.Close()} {
		if err == nil || errors.Is(err, ErrShrunk) || !strings.Contains(err.Error(), "no page") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if l.Len() != 0 {
		t.Errorf("%d records", l.Len())
	}
}

// A process that is being started has copies of all files for a moment. A lock that they
// held would make of a log that has been closed one that is open elsewhere.
func TestClosedLogIsNotLockedByAProcessThatIsBeingStarted(t *testing.T) {
	path := newPath(t)
	l := must[*Log[event]](t)(Create[event](path))
	theirs := must[int](t)(unix.Dup(int(l.core.f.(*osFile).Fd())))
	defer unix.Close(theirs)
	if _, err := Open[event](path); !errors.Is(err, ErrLocked) {
		t.Errorf("while it is open: %v", err)
	}
	ok(t, l.Close())
	ok(t, must[*Log[event]](t)(Open[event](path)).Close())
}
