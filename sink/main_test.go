package sink

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		runChild(role)
		return
	}
	goleak.VerifyTestMain(m)
}

// long runs everything at full length; it takes minutes.
var long = os.Getenv("SLUICE_LONG") == "1"

// cycles is how often a test does what it does, and says so if that is not the
// full number.
func cycles(t testing.TB, short, full int) int {
	if long {
		return full
	}
	if raceEnabled {
		short = max(5, short/4)
	}
	t.Logf("%d cycles; SLUICE_LONG=1 runs all %d", short, full)
	return short
}

// event is the record of most tests: 32 bytes that say which one it is.
type event struct {
	ID, Writer, Seq uint64
	Fill            [8]byte
}

func eventOf(id uint64) event {
	e := event{ID: id, Seq: id * 3}
	binary.LittleEndian.PutUint64(e.Fill[:], ^id)
	return e
}

// plain is a system without maps, as Windows is to a Log.
type plain struct{ system }

type plainFile struct{ file }

func (plainFile) Map(int64, int) ([]byte, error) { return nil, errNoMap }

func (p plain) Open(path string, flag int) (file, error) {
	f, err := p.system.Open(path, flag)
	if err != nil {
		return nil, err
	}
	return plainFile{f}, nil
}

// withSystem gives a log another system, and small segments, which is all that
// some of them have room for.
func withSystem(s system) LogOption {
	return logOption(func(c *logConfig) { c.sys, c.segment = s, minSegment })
}

// everyWay runs a test with maps and without.
func everyWay(t *testing.T, test func(t *testing.T, way LogOption)) {
	t.Run("mapped", func(t *testing.T) { test(t, withSystem(host)) })
	t.Run("plain", func(t *testing.T) { test(t, withSystem(plain{host})) })
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "log") }

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fill appends n events, numbered from the log's length on, one by one.
func fillLog(t testing.TB, l *Log[event], n int) {
	t.Helper()
	for range n {
		i := l.Len()
		if first, err := l.Append(eventOf(i)); err != nil || first != i {
			t.Fatalf("record %d: index %d, %v", i, first, err)
		}
	}
}

// appendEvents appends n events with one call.
func appendEvents(t testing.TB, l *Log[event], n int) {
	t.Helper()
	recs := make([]event, n)
	for i := range recs {
		recs[i] = eventOf(l.Len() + uint64(i))
	}
	must[uint64](t)(l.Append(recs...))
}

// wantEvents checks that the log holds the events first to n-1 and nothing else.
func wantEvents(t testing.TB, l *Log[event], first, n uint64) {
	t.Helper()
	next := first
	for i, e := range l.Records() {
		if i != next || e != eventOf(i) {
			t.Fatalf("record %d is %v at place %d", next, e, i)
		}
		next++
	}
	if l.Err() != nil || next != n || l.Len() != n {
		t.Fatalf("read up to %d, Len is %d, want %d; Err is %v", next, l.Len(), n, l.Err())
	}
}

// faulty is a system of which call number failAt fails, counted over all its
// files, with fault. It keeps the books of what is open and mapped.
type faulty struct {
	system
	mu     sync.Mutex
	calls  int
	failAt int
	fault  error
	failed string         // the call that was made to fail
	only   string         // if not "", only calls of this name are counted
	open   map[string]int // files and maps that have not been given back
}

func newFaulty(sys system, failAt int, fault error) *faulty {
	return &faulty{system: sys, failAt: failAt, fault: fault, open: map[string]int{}}
}

// step counts a call, and is the error that it is to fail with.
func (s *faulty) step(call string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.only != "" && s.only != call {
		return nil
	}
	if s.calls++; s.calls == s.failAt {
		s.failed = call
		return fmt.Errorf("%s: %w", call, s.fault)
	}
	return nil
}

func (s *faulty) hold(what string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[what] += n
}

func (s *faulty) Open(path string, flag int) (file, error) {
	if err := s.step("open"); err != nil {
		return nil, err
	}
	f, err := s.system.Open(path, flag)
	if err != nil {
		return nil, err
	}
	s.hold("files", 1)
	return &faultyFile{f, s}, nil
}

func (s *faulty) Link(from, to string) error {
	if err := s.step("link"); err != nil {
		return err
	}
	return s.system.Link(from, to)
}

func (s *faulty) Rename(from, to string) error {
	if err := s.step("rename"); err != nil {
		return err
	}
	return s.system.Rename(from, to)
}

func (s *faulty) Remove(path string) error {
	if err := s.step("remove"); err != nil {
		return err
	}
	return s.system.Remove(path)
}

func (s *faulty) Names(dir string) ([]string, error) {
	if err := s.step("names"); err != nil {
		return nil, err
	}
	return s.system.Names(dir)
}

func (s *faulty) SyncDir(dir string) error {
	if err := s.step("syncdir"); err != nil {
		return err
	}
	return s.system.SyncDir(dir)
}

type faultyFile struct {
	file
	s *faulty
}

func (f *faultyFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.s.step("read"); err != nil {
		return 0, err
	}
	return f.file.ReadAt(b, off)
}

// WriteAt writes half of b when it fails, as a disk does that becomes full.
func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.s.step("write"); err != nil {
		n, _ := f.file.WriteAt(b[:len(b)/2], off)
		return n, err
	}
	return f.file.WriteAt(b, off)
}

func (f *faultyFile) Size() (int64, error) {
	if err := f.s.step("size"); err != nil {
		return 0, err
	}
	return f.file.Size()
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.s.step("truncate"); err != nil {
		return err
	}
	return f.file.Truncate(size)
}

func (f *faultyFile) Allocate(off, n int64) error {
	if err := f.s.step("allocate"); err != nil {
		return err
	}
	return f.file.Allocate(off, n)
}

func (f *faultyFile) Map(off int64, n int) ([]byte, error) {
	if err := f.s.step("map"); err != nil {
		return nil, err
	}
	m, err := f.file.Map(off, n)
	if err == nil {
		f.s.hold("maps", 1)
	}
	return m, err
}

// Unmap and Close do what they are to do also when they report a failure, as the
// system's own do.
func (f *faultyFile) Unmap(m []byte) error {
	f.s.hold("maps", -1)
	err := f.file.Unmap(m)
	if ferr := f.s.step("unmap"); ferr != nil {
		return ferr
	}
	return err
}

func (f *faultyFile) Close() error {
	f.s.hold("files", -1)
	err := f.file.Close()
	if ferr := f.s.step("close"); ferr != nil {
		return ferr
	}
	return err
}

func (f *faultyFile) Sync() error {
	if err := f.s.step("sync"); err != nil {
		return err
	}
	return f.file.Sync()
}

func (f *faultyFile) Lock() error {
	if err := f.s.step("lock"); err != nil {
		return err
	}
	return f.file.Lock()
}

func (f *faultyFile) Punch(off, n int64) error {
	if err := f.s.step("punch"); err != nil {
		return err
	}
	return f.file.Punch(off, n)
}
