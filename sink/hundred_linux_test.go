package sink

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"testing"
)

const hundred = 100 << 30 // as a number of bytes, an int64

// resident is the process's memory, in bytes, without what the runtime would give back.
func resident(t *testing.T) int64 {
	debug.FreeOSMemory()
	var size, pages int64
	fmt.Sscan(string(must[[]byte](t)(os.ReadFile("/proc/self/statm"))), &size, &pages)
	return pages * int64(os.Getpagesize())
}

// An address is not memory, nor is it disk. A hundred logs have a gigabyte mapped
// each. What they take of both is the step that they have allocated, and no more.
func TestHundredGigabytesOfAddressesTakeNoMemory(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("skipped: a 32-bit process has no 100 GB of addresses")
	}
	const n = hundred / maxSegment
	dir := fastDir(t)
	logs := make([]*Log[event], n)
	before := resident(t)
	for i := range logs {
		path := filepath.Join(dir, strconv.Itoa(i))
		logs[i] = must[*Log[event]](t)(Create[event](path, SegmentSize(maxSegment)))
		fillLog(t, logs[i], 10)
		if !logs[i].core.mapped {
			t.Skip("skipped: files cannot be mapped here")
		}
	}
	for _, l := range logs {
		l.core.helping.Wait()
	}
	grown := resident(t) - before
	_, mapped := mapsOf(t, dir)
	disk, most := int64(0), int64(0)
	for i, l := range logs {
		disk += allocatedBytes(t, l.core.path)
		most += l.core.allocated
		wantEvents(t, l, 0, 10)
		if i%2 == 0 { // and they can be used
			fillLog(t, l, 1000)
			wantEvents(t, l, 0, 1010)
		}
	}
	t.Logf("%d GiB mapped; of the disk %d KiB, of memory %d KiB", mapped>>30, disk>>10, grown>>10)
	const step = 1 << 20    // what SegmentSize says that an open log takes of the disk
	heap := int64(64 << 10) // what a Log has besides
	if raceEnabled {
		heap *= 4 // the detector keeps notes of all memory that is used
	}
	if mapped < hundred || most > n*step || disk > most || grown > most+n*heap {
		t.Errorf("mapped %d, want at least %d; allocated %d, want at most %d; of the disk %d; of memory %d, want at most %d",
			mapped, int64(hundred), most, n*step, disk, grown, most+n*heap)
	}
	for _, l := range logs {
		ok(t, l.Close())
	}
	if k, _ := mapsOf(t, dir); k != 0 {
		t.Errorf("%d maps left", k)
	}
}

// metered counts the bytes that are read of a log's file.
type metered struct {
	system
	read atomic.Int64
}

type meteredFile struct {
	file
	s *metered
}

func (s *metered) Open(path string, flag int) (file, error) {
	f, err := s.system.Open(path, flag)
	if err != nil {
		return nil, err
	}
	return meteredFile{f, s}, nil
}

func (f meteredFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.file.ReadAt(b, off)
	f.s.read.Add(int64(n))
	return n, err
}

// A log of 100 GB, of which all but the end has been dropped, or never read again
// since it was synced: to open it, to go on with it, and to read and follow its end
// takes no more of memory, addresses, disk and time than with a small one. Of the time
// the bytes that are read tell.
func TestHundredGigabytesOfALogAreNotTouched(t *testing.T) {
	for name, dropped := range map[string]bool{"dropped": true, "synced": false} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(fastDir(t), "log")
			l := must[*Log[event]](t)(Create[event](path))
			geo, id := l.core.geo, l.core.id
			ok(t, l.Close())
			full := hundred / uint64(geo.block)
			first := full * geo.per
			point := checkpoint{serial: 2, synced: first}
			if dropped {
				point.first = first
			}
			f := must[*os.File](t)(os.OpenFile(path, os.O_RDWR, 0))
			must[int](t)(f.WriteAt(point.encode(id), point.slot()))
			if err := f.Truncate(geo.blockOffset(full)); err != nil {
				t.Skipf("skipped: no file of 100 GB: %v", err)
			}
			ok(t, f.Close())

			before := resident(t)
			s := &metered{system: host}
			l = must[*Log[event]](t)(Open[event](path, logOption(func(c *logConfig) { c.sys = s })))
			if r := l.Recovery(); l.Len() != first || r.Checked != 0 || r.Cut != 0 || s.read.Load() > int64(geo.header+geo.block) {
				t.Errorf("%d records, want %d; %d bytes read; recovered %v", l.Len(), first, s.read.Load(), r)
			}
			opened := s.read.Load()
			const n = 5000
			fillLog(t, l, n)
			ok(t, l.Sync())
			r := must[*Log[event]](t)(Open[event](path, ReadOnly()))
			for _, l := range []*Log[event]{l, r} {
				next := first
				for i, e := range l.FollowFrom(t.Context(), first) {
					if i != next || e != eventOf(i) {
						t.Fatalf("record %d is %v at %d", next, e, i)
					}
					if next++; next == first+n {
						break
					}
				}
				for i := range l.RecordsFrom(first + n - 1) {
					next = i + 1
				}
				if next != first+n || l.Len() != next {
					t.Errorf("%d records, want %d; Len is %d", next-first, n, l.Len())
				}
			}
			grown := resident(t) - before
			_, mapped := mapsOf(t, path)
			disk := allocatedBytes(t, path)
			size := must[int64](t)(l.core.f.Size())
			t.Logf("%d GiB of file, %d bytes read by Open; mapped %d KiB, of the disk %d KiB, of memory %d KiB", size>>30, opened, mapped>>10, disk>>10, grown>>10)
			most := int64(geo.header) + 2*defaultSegment // where the end of one is near
			if size < hundred || mapped > most || disk > int64(geo.header)+2*mostGrowth+n*32*2 || grown > 8<<20 {
				t.Errorf("%d bytes of file, %d mapped, %d of the disk, %d of memory", size, mapped, disk, grown)
			}
			ok(t, r.Close())
			ok(t, l.Close())
			l = must[*Log[event]](t)(Open[event](path))
			if !l.Recovery().Clean || l.Len() != first+n || l.First() != point.first {
				t.Errorf("records %d to %d, recovered %v", l.First(), l.Len(), l.Recovery())
			}
			ok(t, l.Close())
		})
	}
}
