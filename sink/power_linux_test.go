package sink

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ext4Shutdown is EXT4_IOC_SHUTDOWN; with noLogFlush the file system stops at once:
// what it has not written yet, of data and of its journal, never will be.
const (
	ext4Shutdown = 0x8004587d
	noLogFlush   = 2
)

// rig is an ext4 file system in a file, whose power can be cut.
type rig struct {
	t          *testing.T
	image, dir string
}

func newRig(t *testing.T) *rig {
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can mount an ext4 and cut its power")
	}
	for _, tool := range []string{"mkfs.ext4", "mount", "umount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("skipped: %v", err)
		}
	}
	r := &rig{t, filepath.Join(fastDir(t), "ext4"), filepath.Join(t.TempDir(), "mnt")}
	ok(t, os.Mkdir(r.dir, 0o700))
	ok(t, os.WriteFile(r.image, nil, 0o600))
	ok(t, os.Truncate(r.image, 24<<20))
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", r.image).CombinedOutput(); err != nil {
		t.Skipf("skipped: mkfs.ext4: %v: %s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", r.image, r.dir).CombinedOutput(); err != nil {
		t.Skipf("skipped: cannot mount over a loop device: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", r.dir).Run() })
	return r
}

func (r *rig) cut() {
	r.t.Helper()
	d := must[*os.File](r.t)(os.Open(r.dir))
	defer d.Close()
	flag := uint32(noLogFlush)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, d.Fd(), ext4Shutdown, uintptr(unsafe.Pointer(&flag))); errno != 0 {
		r.t.Fatal(errno)
	}
}

func (r *rig) again() {
	r.t.Helper()
	for _, args := range [][]string{{"umount", r.dir}, {"mount", "-o", "loop", r.image, r.dir}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			r.t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
}

// The power of a real file system is cut while the log is being written. All that
// was synced is there, whatever was not is a prefix or gone, at each level of
// durability.
func TestRealPowerCutLosesNothingThatWasSynced(t *testing.T) {
	rig := newRig(t)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 3))
	path := filepath.Join(rig.dir, "log")
	opts := []LogOption{EverySync, Interval(time.Millisecond), Buffered}
	kept, lost := 0, 0
	for cut := range cycles(t, 18, 500) {
		level := opts[cut%len(opts)]
		if cut%15 == 0 {
			os.Remove(path)
			ok(t, must[*Log[event]](t)(Create[event](path)).Close())
		}
		l := must[*Log[event]](t)(Open[event](path, level, SegmentSize(256<<10)))
		begun := l.Len()
		var synced, acked atomic.Uint64
		synced.Store(begun)
		ended, reached := make(chan struct{}), make(chan struct{})
		want := begun + 1 + r.Uint64N(2000)
		go func() {
			defer close(ended)
			for {
				recs := make([]event, 1+acked.Load()%40)
				for i := range recs {
					recs[i] = eventOf(l.Len() + uint64(i))
				}
				first, err := l.Append(recs...)
				if err != nil || l.Len() > begun+50_000 {
					return
				}
				end := first + uint64(len(recs))
				if first < want && end >= want {
					close(reached)
				}
				acked.Store(end)
				if level == EverySync {
					synced.Store(end)
				} else if end%50 == 0 && l.Sync() == nil {
					synced.Store(end)
				}
			}
		}()
		select { // some way into it
		case <-reached:
		case <-ended:
		}
		safe := max(synced.Load(), l.core.durable.Load())
		rig.cut()
		<-ended
		safe = max(safe, begun)
		appended := l.Len()
		l.Close() // cannot
		rig.again()
		l, err := Open[event](path)
		if err != nil {
			t.Fatalf("seed %d, cut %d, %v: %v", seed, cut, level, err)
		}
		if l.Len() < safe || l.Len() > appended {
			t.Fatalf("seed %d, cut %d, %v: %d records, %d synced, %d appended; recovered %v", seed, cut, level, l.Len(), safe, appended, l.Recovery())
		}
		wantEvents(t, l, 0, l.Len())
		kept, lost = kept+int(l.Len()-begun), lost+int(appended-l.Len())
		ok(t, l.Close())
	}
	t.Logf("seed %d: %d records kept, %d unsynced ones lost", seed, kept, lost)
	if kept == 0 || lost == 0 {
		t.Error("the cuts have cut nothing")
	}
}
