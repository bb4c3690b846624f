package sink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/seed95b73fdc/sluice/stage"
)

const filePath = "dir/events.jsonl"

func onMemory(m *memory) FileOption { return func(c *fileConfig) { c.sys = m } }

// visible are the names that somebody would find.
func shown(m *memory) []string {
	names, _ := m.Names("dir")
	names = slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, ".") })
	slices.Sort(names)
	return names
}

func TestFileAppearsWholeOrNotAtAll(t *testing.T) {
	m := newMemory()
	f := must[*File](t)(NewFile(filePath, onMemory(m)))
	fmt.Fprint(f, "one\n")
	fmt.Fprint(f, "two\n")
	if len(shown(m)) != 0 {
		t.Errorf("there before it is complete: %v", shown(m))
	}
	ok(t, f.Close())
	ok(t, f.Close())
	ok(t, f.Abort())
	if got := string(m.get(filePath)); got != "one\ntwo\n" || len(m.files) != 1 {
		t.Errorf("%q, %d files", got, len(m.files))
	}
	if _, err := f.Write([]byte("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("Write after Close: %v", err)
	}
	// Another one replaces it, if it comes to its end.
	f = must[*File](t)(NewFile(filePath, onMemory(m)))
	fmt.Fprint(f, "new\n")
	ok(t, f.Abort())
	ok(t, f.Close())
	if got := string(m.get(filePath)); got != "one\ntwo\n" || len(m.files) != 1 {
		t.Errorf("after Abort: %q, %d files", got, len(m.files))
	}
	for range 2 { // and from a function
		err := Whole(filePath, func(w io.Writer) error { fmt.Fprint(w, "bad"); return errDisk }, onMemory(m))
		if got := string(m.get(filePath)); !errors.Is(err, errDisk) || got != "one\ntwo\n" || len(m.files) != 1 {
			t.Errorf("%v: %q, %d files", err, got, len(m.files))
		}
	}
	func() {
		defer func() { recover() }()
		Whole(filePath, func(w io.Writer) error { fmt.Fprint(w, "bad"); panic("torn") }, onMemory(m))
	}()
	ok(t, Whole(filePath, func(w io.Writer) error { fmt.Fprint(w, "good"); return nil }, onMemory(m)))
	if got := string(m.get(filePath)); got != "good" || len(m.files) != 1 {
		t.Errorf("%q, %d files", got, len(m.files))
	}
}

func TestRotationBySizeKeepsWritesWholeAndNumbersGoOn(t *testing.T) {
	m := newMemory()
	for life := range 2 {
		f := must[*File](t)(NewFile(filePath, onMemory(m), RotateSize(10)))
		for _, w := range []string{"aaaa\n", "bbbb\n", "c\n", "larger than ten\n", "d\n"} {
			must[int](t)(f.Write([]byte(w)))
		}
		if life == 0 {
			ok(t, f.Close())
		} else {
			ok(t, f.Rotate())
			ok(t, f.Rotate()) // nothing to do
			ok(t, f.Close())
		}
	}
	want := []string{"aaaa\nbbbb\n", "c\n", "larger than ten\n", "d\n"}
	want = append(want, want...)
	names := shown(m)
	if len(names) != len(want) || names[0] != "events-000001.jsonl" {
		t.Fatalf("%v", names)
	}
	for i, name := range names {
		if got := string(m.get("dir/" + name)); got != want[i] {
			t.Errorf("%s: %q, want %q", name, got, want[i])
		}
	}
}

func TestP13RotationByTimeNeedsNoFurtherWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		f := must[*File](t)(NewFile(filePath, onMemory(m), RotateEvery(time.Minute)))
		time.Sleep(time.Hour) // nothing written, nothing appears
		must[int](t)(f.Write([]byte("a\n")))
		time.Sleep(30 * time.Second)
		must[int](t)(f.Write([]byte("b\n")))
		time.Sleep(30*time.Second - 1)
		if len(shown(m)) != 0 {
			t.Errorf("too early: %v", shown(m))
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := shown(m); len(got) != 1 || string(m.get("dir/"+got[0])) != "a\nb\n" {
			t.Errorf("after a minute: %v", got)
		}
		must[int](t)(f.Write([]byte("c\n")))
		ok(t, f.Rotate()) // the next part has a minute of its own
		time.Sleep(40 * time.Second)
		must[int](t)(f.Write([]byte("d\n")))
		time.Sleep(59 * time.Second)
		if got := shown(m); len(got) != 2 {
			t.Errorf("a part that is 59 s old: %v", got)
		}
		ok(t, f.Close())
		if got := shown(m); len(got) != 3 {
			t.Errorf("in the end: %v", got)
		}
	})
}

func TestGzipPartsAreWholeOnes(t *testing.T) {
	dir := t.TempDir()
	f := must[*File](t)(NewFile(filepath.Join(dir, "log.txt"), RotateSize(100), Gzip()))
	var want strings.Builder
	lines := make([]string, 100)
	for i := range lines {
		lines[i] = fmt.Sprint("line ", i)
		fmt.Fprintln(&want, lines[i])
	}
	ok(t, Lines(t.Context(), stage.FromSlice(lines), f, BufferSize(1)))
	ok(t, f.Close())
	names := must[[]string](t)(filepath.Glob(filepath.Join(dir, "*")))
	slices.Sort(names)
	if len(names) < 5 || filepath.Base(names[0]) != "log-000001.txt.gz" {
		t.Fatalf("%v", names)
	}
	var got strings.Builder
	for _, name := range names {
		r := must[*gzip.Reader](t)(gzip.NewReader(bytes.NewReader(must[[]byte](t)(os.ReadFile(name)))))
		text := must[[]byte](t)(io.ReadAll(r))
		if len(text) > 100 || !bytes.HasSuffix(text, []byte("\n")) {
			t.Errorf("%s: %q", name, text)
		}
		got.Write(text)
	}
	if got.String() != want.String() {
		t.Error("the parts are not what was written")
	}
}

// C88: each system call fails once. The error is returned, a file of that name is
// as it was or as it should be, and nothing else is left.
func TestC88FailedStepLeavesTheOldFile(t *testing.T) {
	seen := map[string]int{}
	for at := 1; ; at++ {
		m := newMemory()
		m.put(filePath, []byte("old"))
		s := newFaulty(m, at, errDisk)
		err := Whole(filePath, func(w io.Writer) error {
			_, err := fmt.Fprint(w, "new")
			return err
		}, func(c *fileConfig) { c.sys = s })
		got := string(m.get(filePath))
		if s.failed == "" {
			if err != nil || got != "new" {
				t.Fatalf("%q, %v", got, err)
			}
			break
		}
		seen[s.failed]++
		renamed := s.failed == "syncdir"
		if !errors.Is(err, errDisk) || got != "old" && !renamed || len(m.files) != 1 || s.open["files"] != 0 {
			t.Errorf("call %d, %s: %q, %v, %d files, %d open", at, s.failed, got, err, len(m.files), s.open["files"])
		}
	}
	for _, call := range []string{"open", "write", "sync", "close", "rename", "syncdir"} {
		if seen[call] == 0 {
			t.Errorf("%s never failed", call)
		}
	}
}

// The same for a rotation: the parts that were complete stay.
func TestC88FailedRotationLosesOnlyItsPart(t *testing.T) {
	for at := 1; ; at++ {
		m := newMemory()
		s := newFaulty(m, at, errDisk)
		f, err := NewFile(filePath, func(c *fileConfig) { c.sys = s }, RotateSize(4))
		written := 0
		for ; err == nil && written < 4; written++ {
			_, err = fmt.Fprintf(f, "%d..\n", written)
		}
		if f != nil {
			err = errors.Join(err, f.Close())
		}
		for i, name := range shown(m) {
			if got := string(m.get("dir/" + name)); got != fmt.Sprintf("%d..\n", i) {
				t.Errorf("call %d, %s: part %s is %q", at, s.failed, name, got)
			}
		}
		if s.failed == "" {
			if err != nil || len(shown(m)) != 4 {
				t.Fatalf("%v, %v", err, shown(m))
			}
			break
		}
		if !errors.Is(err, errDisk) && s.failed != "link" || s.open["files"] != 0 { // there is another way
			t.Errorf("call %d, %s: %v, %d open", at, s.failed, err, s.open["files"])
		}
	}
}

// Where a file cannot have two names, the name is taken first.
func TestFileSystemsWithoutLinks(t *testing.T) {
	m := newMemory()
	f := must[*File](t)(NewFile(filePath, func(c *fileConfig) { c.sys = noLinks{m} }, RotateSize(1)))
	fmt.Fprint(f, "a")
	fmt.Fprint(f, "b")
	ok(t, f.Close())
	if got := shown(m); len(got) != 2 || string(m.get("dir/"+got[1])) != "b" || len(m.files) != 2 {
		t.Errorf("%v", got)
	}
	l := must[*Log[event]](t)(Create[event](memPath, withSystem(noLinks{m})))
	ok(t, l.Close())
	if _, err := Create[event](memPath, withSystem(noLinks{m})); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created again: %v", err)
	}
}

type noLinks struct{ system }

func (noLinks) Link(string, string) error { return errors.ErrUnsupported }

func TestFileIsItsOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	ok(t, Whole(path, func(w io.Writer) error { return nil }))
	if st := must[fs.FileInfo](t)(os.Stat(path)); st.Mode() != 0o600 || st.Size() != 0 {
		t.Errorf("%v, %d bytes", st.Mode(), st.Size())
	}
	if _, err := NewFile(filepath.Join(path, "in a file")); err == nil {
		t.Error("made in a file")
	}
	if _, err := NewFile(filepath.Join(path, "in a file"), RotateSize(1)); err == nil {
		t.Error("made in a file")
	}
}

// With rotation a part is what is whole or not there.
func TestWholeThatFailsLeavesThePartsThatWereComplete(t *testing.T) {
	m := newMemory()
	err := Whole(filePath, func(w io.Writer) error {
		for range 5 {
			fmt.Fprint(w, "0123456789")
		}
		return errDisk
	}, onMemory(m), RotateSize(20))
	if !errors.Is(err, errDisk) {
		t.Error(err)
	}
	for path := range m.files {
		if got := string(m.get(path)); got != "01234567890123456789" {
			t.Errorf("%s: %q", path, got)
		}
	}
	if len(m.files) != 2 {
		t.Errorf("%d files", len(m.files))
	}
}
