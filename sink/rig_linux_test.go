package sink

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ext4Shutdown is EXT4_IOC_SHUTDOWN: the file system stops at once. What it has not
// written yet, of data and of its journal, it never will; or, with logFlush, what
// belongs to its journal still is, and data may be missing that this speaks of.
const (
	ext4Shutdown = 0x8004587d
	logFlush     = 1
	noLogFlush   = 2
)

// rig is an ext4 file system in a file, whose power can be cut. The loop device that
// it lies on goes with the mount: what the kernel remembers of a device that is still
// there would be found again, although it never got to the disk.
type rig struct {
	t          testing.TB
	dir, image string
}

// makes are the ways to make the file system: with blocks of a page, and smaller.
var makes = [][]string{{"-b", "4096"}, {"-b", "1024"}}

func newRig(t testing.TB, mkfs ...string) *rig {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can mount an ext4 and cut its power")
	}
	tool, err := exec.LookPath("mkfs.ext4")
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	const size = 24 << 20
	image := filepath.Join(fastDir(t), "ext4")
	ok(t, os.WriteFile(image, nil, 0o600))
	ok(t, os.Truncate(image, size))
	args := append(mkfs, "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
	if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		t.Skipf("skipped: mkfs.ext4: %v: %s", err, out)
	}
	r := &rig{t, filepath.Join(t.TempDir(), "mnt"), image}
	ok(t, os.Mkdir(r.dir, 0o700))
	if err := r.mount(); err != nil {
		t.Skipf("skipped: cannot mount a loop device: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(r.dir, unix.MNT_DETACH) })
	return r
}

// attach makes the image a block device, until that is closed and not mounted.
func (r *rig) attach() (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	f := must[*os.File](r.t)(os.OpenFile(r.image, os.O_RDWR, 0))
	defer f.Close()
	for {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, err
		}
		disk, err := os.OpenFile("/dev/loop"+strconv.Itoa(n), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		conf := unix.LoopConfig{Fd: uint32(f.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}}
		if err = unix.IoctlLoopConfigure(int(disk.Fd()), &conf); err == nil {
			return disk, nil
		}
		disk.Close()
		if err != unix.EBUSY { // somebody else was quicker
			return nil, err
		}
	}
}

func (r *rig) mount() error {
	disk, err := r.attach()
	if err != nil {
		return err
	}
	defer disk.Close()
	return unix.Mount(disk.Name(), r.dir, "ext4", 0, "")
}

// cut stops the file system, in one of its ways.
func (r *rig) cut(how uint32) {
	r.t.Helper()
	d := must[*os.File](r.t)(os.Open(r.dir))
	defer d.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, d.Fd(), ext4Shutdown, uintptr(unsafe.Pointer(&how))); errno != 0 {
		r.t.Fatal(errno)
	}
}

// again mounts what is left.
func (r *rig) again() {
	r.t.Helper()
	ok(r.t, unix.Unmount(r.dir, 0))
	ok(r.t, r.mount())
}
