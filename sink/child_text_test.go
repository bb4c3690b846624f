package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// partText is what part number n of the child's File holds.
func partText(n uint64) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "part %d\n", n), 1+int(n*7%900))
}

func writeParts(path string) {
	f, err := NewFile(path, RotateSize(1<<30))
	die(err)
	for n := uint64(1); ; n++ {
		for line := range bytes.Lines(partText(n)) {
			_, err := f.Write(line)
			die(err)
		}
		die(f.Rotate())
		acknowledge(n, n+1)
	}
}

// A process that is killed leaves the parts whose Rotate has returned, each whole, and
// under the name of the next one nothing, or all of it.
func TestKilledProcessLeavesPartsThatAreWhole(t *testing.T) {
	exe := must[string](t)(os.Executable())
	unnamed := 0
	for cycle := range cycles(t, 12, 500) {
		dir := fastDir(t)
		end := max(killOne(t, exe, "file", filepath.Join(dir, "part"), "", 5*cycle), 1)
		parts := uint64(0)
		for _, e := range must[[]os.DirEntry](t)(os.ReadDir(dir)) {
			if strings.HasPrefix(e.Name(), ".") {
				unnamed++
				continue
			}
			parts++
			got := must[[]byte](t)(os.ReadFile(filepath.Join(dir, e.Name())))
			if e.Name() != fmt.Sprintf("part-%06d", parts) || !bytes.Equal(got, partText(parts)) {
				t.Errorf("cycle %d: %s has %d bytes, want part %d of %d", cycle, e.Name(), len(got), parts, len(partText(parts)))
			}
		}
		if parts != end-1 && parts != end {
			t.Errorf("cycle %d: %d parts, %d acknowledged", cycle, parts, end-1)
		}
	}
	t.Logf("%d parts had no name yet", unnamed)
}

const (
	textItems = 3000
	textRoom  = 1000
)

// writeText writes lines, objects or rows, and then waits for more. Its buffer is written
// when it is full, or, with "idle" in way, when nothing has come for a while. It says how
// many bytes the kernel has.
func writeText(path, way string) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	die(err)
	opts := []TextOption{BufferSize(textRoom), FlushAfter(time.Hour)}
	if strings.HasSuffix(way, "idle") {
		opts[1] = FlushAfter(time.Millisecond)
	}
	size := 0
	w := writerFunc(func(b []byte) (int, error) {
		n, err := f.Write(b)
		size += n
		acknowledge(0, uint64(size))
		return n, err
	})
	in := stage.Generate(func(_ context.Context, yield func(int) bool) error {
		for i := range textItems {
			yield(i)
		}
		time.Sleep(time.Hour) // it is killed
		return nil
	})
	words := func(_ context.Context, i int) (string, error) { return fmt.Sprint(i), nil }
	rows := func(_ context.Context, i int) ([]string, error) { return []string{fmt.Sprint(i)}, nil }
	switch strings.Fields(way)[0] {
	case "Lines":
		err = Lines(context.Background(), stage.Map(in, stage.Inline, words), w, opts...)
	case "JSONL":
		err = JSONL(context.Background(), in, w, opts...)
	case "CSV":
		err = CSV(context.Background(), stage.Map(in, stage.Inline, rows), w, opts...)
	}
	die(errors.Join(err, errors.New("it has ended by itself")))
}

// What a killed process loses of a text is its buffer: less than BufferSize, and nothing
// that has waited for FlushAfter.
func TestKilledProcessLosesOfATextOnlyTheBuffer(t *testing.T) {
	exe := must[string](t)(os.Executable())
	var want bytes.Buffer
	for i := range textItems {
		fmt.Fprintln(&want, i)
	}
	for _, sink := range []string{"Lines", "JSONL", "CSV"} {
		for way, least := range map[string]int{"full": want.Len() - textRoom + 1, "idle": want.Len()} {
			path := filepath.Join(fastDir(t), "text")
			killWhen(t, exe, "text", path, sink+" "+way, func(_ int, end uint64) bool { return end >= uint64(least) })
			got := must[[]byte](t)(os.ReadFile(path))
			if len(got) < least || !bytes.HasPrefix(want.Bytes(), got) {
				t.Errorf("%s, %s: %d bytes of %d, not a prefix of at least %d", sink, way, len(got), want.Len(), least)
			}
		}
	}
}
