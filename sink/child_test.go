package sink

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The test binary runs itself as the process that is killed. Its environment says
// what it is to do.
const (
	childRole = "SLUICE_SINK_CHILD" // "append", "file", "text"
	childPath = "SLUICE_SINK_PATH"
	childWays = "SLUICE_SINK_WRITERS"
)

const childWriters = 3

// runChild does something until it is killed.
func runChild(role string) {
	switch path := os.Getenv(childPath); role {
	case "file":
		writeParts(path)
	case "text":
		writeText(path, os.Getenv(childWays))
	default:
		appendForever()
	}
}

func die(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// acknowledge tells the parent that what is numbered first to end-1 must not be lost.
func acknowledge(first, end uint64) {
	var ack [16]byte
	binary.LittleEndian.PutUint64(ack[:], first)
	binary.LittleEndian.PutUint64(ack[8:], end)
	_, err := os.Stdout.Write(ack[:])
	die(err)
}

// appendForever appends to a log with several writers. After each append it says which
// indices were acknowledged.
func appendForever() {
	var opts []LogOption
	switch os.Getenv(childWays) {
	case "EverySync":
		opts = append(opts, EverySync)
	case "Interval":
		opts = append(opts, Interval(time.Millisecond))
	case "plain":
		opts = append(opts, withSystem(plain{host}))
	}
	l, err := Open[event](os.Getenv(childPath), append(opts, SegmentSize(minSegment))...)
	die(err)
	begun := l.Len()
	var wg sync.WaitGroup
	for w := range uint64(childWriters) {
		wg.Go(func() {
			for seq := uint64(0); ; {
				recs := make([]event, 1+seq%5)
				for i := range recs {
					recs[i] = event{ID: begun, Writer: w, Seq: seq + uint64(i)}
				}
				first, err := l.Append(recs...)
				die(err)
				seq += uint64(len(recs))
				acknowledge(first, first+uint64(len(recs)))
			}
		})
	}
	wg.Wait()
}

// fastDir is a directory in memory where there is one: to kill a process does not
// touch what the kernel holds, so that does not take a disk.
func fastDir(t testing.TB) string {
	t.Helper()
	const shm = "/dev/shm"
	if st, err := os.Stat(shm); err != nil || !st.IsDir() {
		return t.TempDir()
	}
	dir := must[string](t)(os.MkdirTemp(shm, "sluice"))
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// kills is how many processes are killed: all that there are to be, unless the race
// detector or a 32-bit program, which have nothing to add, is what is being run.
func kills(t testing.TB) int {
	const full = 2000
	if raceEnabled || strconv.IntSize == 32 || testing.Short() {
		return cycles(t, 40, full)
	}
	return full
}

// A process is killed at a random moment while three goroutines append. Then every
// record whose Append has returned is there, whole and at its index, and nothing
// is there that was not appended; and the next process goes on from there.
func TestKilledProcessLosesNoAcknowledgedRecord(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	const lanes = 2
	n := kills(t)
	for lane := range lanes {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			killMany(t, seed+uint64(lane), n/lanes)
		})
	}
}

// killMany kills n processes, one after the other, that append to one log.
func killMany(t *testing.T, seed uint64, n int) {
	const (
		perLog   = 40  // processes that go on with one log
		acks     = 40  // most that one has acknowledged when it is killed
		manyAcks = 400 // and the same for each that lives longer, of every longer
		longer   = 21
	)
	r := rand.New(rand.NewPCG(seed, 2))
	path := filepath.Join(fastDir(t), "log")
	exe := must[string](t)(os.Executable())
	ways := []string{"Buffered", "plain", "Interval", "EverySync"}
	unacked, acked := 0, 0
	for cycle := range n {
		way := ways[cycle%len(ways)]
		if cycle%perLog == 0 {
			os.Remove(path)
			ok(t, must[*Log[event]](t)(Create[event](path)).Close())
		}
		most := acks
		if cycle%longer == 0 {
			most = manyAcks
		}
		before := lenOf(t, path)
		end := killOne(t, exe, "append", path, way, r.IntN(most))
		l := must[*Log[event]](t)(Open[event](path))
		if l.Len() < end {
			t.Fatalf("seed %d, cycle %d, %s: %d records, %d were acknowledged; recovered %v", seed, cycle, way, l.Len(), end, l.Recovery())
		}
		if l.Recovery().Cut != 0 {
			t.Errorf("seed %d, cycle %d, %s: a kill has torn something: %v", seed, cycle, way, l.Recovery())
		}
		var next [childWriters]uint64
		for i, e := range l.RecordsFrom(before) {
			if e.ID != before || e.Writer >= childWriters || e.Seq != next[e.Writer] {
				t.Fatalf("seed %d, cycle %d, %s: record %d is %v", seed, cycle, way, i, e)
			}
			next[e.Writer]++
		}
		ok(t, l.Err())
		acked += max(int(end), int(before)) - int(before)
		unacked += int(l.Len() - max(end, before))
		ok(t, l.Close())
	}
	t.Logf("seed %d: %d acknowledged records, and %d that were on their way", seed, acked, unacked)
	if acked == 0 {
		t.Error("nothing was appended")
	}
}

func lenOf(t testing.TB, path string) uint64 {
	t.Helper()
	l := must[*Log[event]](t)(Open[event](path, ReadOnly()))
	defer l.Close()
	return l.Len()
}

func child(exe, role, path, way string) *exec.Cmd {
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childRole+"="+role, childPath+"="+path, childWays+"="+way)
	cmd.Stderr = os.Stderr
	return cmd
}

// killOne runs a child, kills it after so many acknowledgements, and returns the
// end of what it has acknowledged.
func killOne(t testing.TB, exe, role, path, way string, acks int) (end uint64) {
	t.Helper()
	return killWhen(t, exe, role, path, way, func(n int, _ uint64) bool { return n >= acks })
}

// killWhen kills it as soon as n acknowledgements, the furthest of which goes to end, are
// enough.
func killWhen(t testing.TB, exe, role, path, way string, enough func(n int, end uint64) bool) (end uint64) {
	t.Helper()
	cmd := child(exe, role, path, way)
	out := must[io.ReadCloser](t)(cmd.StdoutPipe())
	ok(t, cmd.Start())
	in := bufio.NewReader(out)
	var ack [16]byte
	killed := false
	for n := 0; ; n++ {
		if !killed && enough(n, end) {
			killed = true
			ok(t, cmd.Process.Kill())
		}
		if _, err := io.ReadFull(in, ack[:]); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal(err)
			}
			if !killed {
				t.Fatalf("the child has ended by itself: %v", cmd.Wait())
			}
			break
		}
		if from := binary.LittleEndian.Uint64(ack[:]); from > 1<<40 {
			t.Fatalf("acknowledged: %d", from)
		}
		end = max(end, binary.LittleEndian.Uint64(ack[8:]))
	}
	cmd.Wait()
	return end
}
