package sink

import (
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

const oCreate = os.O_CREATE

const memPath = "log"

// image is the file of a log of n events, made by the function given, which gets
// the log with nothing in it.
func image(t testing.TB, make func(l *Log[event])) []byte {
	t.Helper()
	m := newMemory()
	l := must[*Log[event]](t)(Create[event](memPath, withSystem(m), SegmentSize(minSegment)))
	make(l)
	return m.get(memPath)
}

// images are the ways in which the same log can lie in its file.
func images(t testing.TB, n int) map[string][]byte {
	return map[string][]byte{
		"closed": image(t, func(l *Log[event]) { fillLog(t, l, n); ok(t, l.Close()) }),
		"killed": image(t, func(l *Log[event]) { fillLog(t, l, n) }),
		"synced": image(t, func(l *Log[event]) { fillLog(t, l, n); ok(t, l.Sync()) }),
		"synced after each": image(t, func(l *Log[event]) {
			for range n {
				fillLog(t, l, 1)
				ok(t, l.Sync())
			}
		}),
		"a chunk, closed": image(t, func(l *Log[event]) {
			recs := make([]event, n)
			for i := range recs {
				recs[i] = eventOf(uint64(i))
			}
			must[uint64](t)(l.Append(recs...))
			ok(t, l.Close())
		}),
	}
}

// isMain are the images that are enough where time is short.
var isMain = map[string]bool{"closed": true, "killed": true, "synced after each": true}

// C86: for every place to cut the last record at, the records before it are there,
// it is not, and nothing is an error; and what is appended then stays.
func TestC86TornLastRecordIsCutOffAndTheLogGoesOn(t *testing.T) {
	geo := geometryOf(32)
	for name, img := range images(t, 5) {
		for size := geo.end(4); size < geo.end(5); size++ {
			m := newMemory()
			m.put(memPath, img[:size])
			l, err := Open[event](memPath, withSystem(m))
			if err != nil {
				t.Fatalf("%s, %d bytes: %v", name, size, err)
			}
			if l.Recovery().Cut != 1 || l.Recovery().Clean {
				t.Errorf("%s, %d bytes: recovered %v", name, size, l.Recovery())
			}
			wantEvents(t, l, 0, 4)
			fillLog(t, l, 2)
			if size%2 == 0 { // killed or closed
				ok(t, l.Close())
			}
			m.put(memPath, m.get(memPath))
			l = must[*Log[event]](t)(Open[event](memPath, withSystem(m)))
			wantEvents(t, l, 0, 6)
			ok(t, l.Close())
		}
	}
}

// Every bit of small logs is flipped. What Open returns then is an
// error, or a log that tells of what it has cut off, or one that has all records.
// A record that was never appended is in none of them.
func TestEveryFlippedByteIsFoundOrHarmless(t *testing.T) {
	const n = 130 // a full block and a little
	counts := map[string]int{}
	if !long {
		t.Logf("%d bits of each byte, of 3 images; SLUICE_LONG=1 runs all 8 of all 5", len(flips(0)))
	}
	for name, img := range images(t, n) {
		if !long && !isMain[name] {
			continue
		}
		img = img[:min(len(img), int(geometryOf(32).end(n))+64)] // of the zero tail, the beginning
		geo := geometryOf(32)
		for i := 0; i < len(img); i += everyByte {
			for _, bits := range flips(i) {
				img[i] ^= bits
				// The header says which records there are, not what they are.
				read := i >= geo.header || i%16 == 0
				counts[openDamaged(t, damage{name, i, bits}, img, n, read, i%64 == 0)]++
				img[i] ^= bits
			}
		}
	}
	t.Log(counts)
	if counts["error"] == 0 || counts["cut"] == 0 || counts["harmless"] == 0 {
		t.Error("not all outcomes have been seen")
	}
}

// everyByte is the step from one byte that is damaged to the next: the race
// detector, which is slow and has nothing to see there, gets some of them.
const everyByte = 1 + 12*raced01

// flips are the changes that byte i is put through: each bit, or one of them where
// to do it again would add nothing.
func flips(i int) []byte {
	if !long && (raceEnabled || strconv.IntSize == 32) {
		return []byte{1 << (i % 8)}
	}
	return []byte{1, 2, 4, 8, 16, 32, 64, 128}
}

// damage is what was changed in which image.
type damage struct {
	image string
	at    int
	bits  byte
}

// Every length that a small log can be cut to. Of a block before the last one all
// records are lost with one of them.
func TestEveryCutLeavesThePrefixThatIsWhole(t *testing.T) {
	const n = 130
	geo := geometryOf(32)
	if !long {
		t.Log("3 images; SLUICE_LONG=1 cuts all 5")
	}
	for name, img := range images(t, n) {
		if !long && !isMain[name] {
			continue
		}
		for size := geo.end(n) % everyByte; size <= geo.end(n); size += everyByte {
			m := newMemory()
			m.show(memPath, img[:size])
			l, err := Open[event](memPath, withSystem(m), ReadOnly())
			if size < int64(geo.header) {
				if err == nil {
					t.Fatalf("%s, %d bytes: opened", name, size)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s, %d bytes: %v", name, size, err)
			}
			whole := uint64(0)
			for whole < n && geo.end(whole+1) <= size {
				whole++
			}
			if whole < geo.per && l.Len() < whole {
				whole = l.Len()
			}
			wantEvents(t, l, 0, whole)
			ok(t, l.Close())
		}
	}
}

// openDamaged opens a damaged log of n events and says how that went: for reading, of
// which the records may be read, or for writing.
func openDamaged(t *testing.T, what damage, img []byte, n int, read, write bool) string {
	t.Helper()
	m := newMemory()
	opts := []LogOption{withSystem(m), ReadOnly()}
	if write {
		m.put(memPath, img)
		opts = opts[:1]
	} else {
		m.show(memPath, img)
	}
	l, err := Open[event](memPath, opts...)
	if err != nil {
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotLog) && !errors.Is(err, ErrLayout) {
			t.Fatalf("%v: %v", what, err)
		}
		return "error"
	}
	defer l.Close()
	have := l.Len()
	if read || have != uint64(n) {
		wantEvents(t, l, 0, have)
	}
	r := l.Recovery()
	switch {
	case have > uint64(n) || r.Clean && have < uint64(n):
		t.Fatalf("%v: %d records; recovered %v", what, have, r)
	case have < uint64(n) && r.Cut == 0:
		t.Fatalf("%v: %d records, and nobody says so: %v", what, have, r)
	}
	if have < uint64(n) {
		return "cut"
	}
	return "harmless"
}

// Power goes at any moment, in memory: sectors written since the last Sync are
// there or not, in any mixture. All synced records must be there, what is there
// must be a prefix of what was appended, and to recover twice, or with a power cut
// during recovery, must come to the same.
func TestPowerCutLosesNothingThatWasSyncedInAnyOrderOfSectors(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	lost, kept, torn := 0, 0, 0
	for round := range cycles(t, 150, 3000) {
		m := newMemory()
		l := must[*Log[event]](t)(Create[event](memPath, withSystem(m), SegmentSize(minSegment)))
		synced := uint64(0)
		for life := range 3 {
			for range r.IntN(12) {
				recs := make([]event, 1+r.IntN(1+r.IntN(300)))
				for i := range recs {
					recs[i] = eventOf(l.Len() + uint64(i))
				}
				must[uint64](t)(l.Append(recs...))
				if r.IntN(3) == 0 {
					ok(t, l.Sync())
					synced = l.Len()
				}
			}
			appended := l.Len()
			m.put(memPath, m.cut(memPath, r))
			var err error
			if r.IntN(4) == 0 { // and once more, while it recovers
				if half, err := Open[event](memPath, withSystem(m), SegmentSize(minSegment)); err == nil {
					torn++
					m.put(memPath, m.cut(memPath, r))
					_ = half
				}
			}
			l, err = Open[event](memPath, withSystem(m), SegmentSize(minSegment))
			if err != nil {
				t.Fatalf("seed %d, round %d, life %d: %v", seed, round, life, err)
			}
			if l.Len() < synced || l.Len() > appended {
				t.Fatalf("seed %d, round %d, life %d: %d records, %d synced, %d appended", seed, round, life, l.Len(), synced, appended)
			}
			wantEvents(t, l, 0, l.Len())
			kept += int(l.Len() - synced)
			lost += int(appended - l.Len())
			synced = l.Len()
			again := must[*Log[event]](t)(Open[event](memPath, withSystem(m), ReadOnly()))
			if again.Len() != l.Len() {
				t.Fatalf("seed %d, round %d, life %d: recovered to %d, then to %d", seed, round, life, l.Len(), again.Len())
			}
		}
		ok(t, l.Close())
	}
	if t.Logf("seed %d: %d unsynced records lost, %d kept, %d cuts in recovery", seed, lost, kept, torn); lost == 0 || kept == 0 || torn == 0 {
		t.Error("the cuts have cut nothing")
	}
}

// A block that lies in the place of another one, or in another log, is not taken
// for what should be there.
func TestBlockOfAnotherPlaceIsNotTaken(t *testing.T) {
	make3 := func() []byte { return image(t, func(l *Log[event]) { fillLog(t, l, 300); ok(t, l.Close()) }) }
	img, other := make3(), make3()
	geo := geometryOf(32)
	at := func(img []byte, b uint64) []byte { return img[geo.blockOffset(b):][:geo.block] }
	swapped := append([]byte(nil), img...)
	copy(at(swapped, 0), at(img, 1))
	foreign := append([]byte(nil), img...)
	copy(at(foreign, 0), at(other, 0))
	for name, img := range map[string][]byte{"swapped": swapped, "foreign": foreign} {
		m := newMemory()
		m.put(memPath, img)
		if l, err := Open[event](memPath, withSystem(m)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %v", name, l.Recovery(), err)
		}
	}
}

// A log is opened again in the middle of a block, and synced: what is durable then has
// a proof of its own. It survives that the power is cut while more is written and synced, of
// which nothing gets to the disk but the sector with the block's words, and the fine
// sums of the block behind it.
func TestWhatRecoveryFoundIsProvedByMoreThanTheLiveWord(t *testing.T) {
	for name, again := range map[string]func(m *memory, l *Log[event]){
		"killed": func(m *memory, l *Log[event]) { m.put(memPath, m.get(memPath)) },
		"closed": func(m *memory, l *Log[event]) { ok(t, l.Close()) },
		"closed, its anchors damaged": func(m *memory, l *Log[event]) {
			ok(t, l.Close())
			img, words := m.get(memPath), l.core.geo.blockOffset(0)
			clear(img[words+anchorWords*wordBytes : words+wordsLen])
			m.put(memPath, img)
		},
		"killed and closed": func(m *memory, l *Log[event]) {
			m.put(memPath, m.get(memPath))
			ok(t, must[*Log[event]](t)(Open[event](memPath, withSystem(m))).Close())
		},
	} {
		for syncs := range 3 {
			m := newMemory()
			l := must[*Log[event]](t)(Create[event](memPath, withSystem(m)))
			fillLog(t, l, 31)
			for range syncs {
				fillLog(t, l, 1)
				ok(t, l.Sync())
			}
			fillLog(t, l, 11)
			again(m, l)
			l = must[*Log[event]](t)(Open[event](memPath, withSystem(m)))
			found := l.Len()
			if found != uint64(31+syncs+11) {
				t.Fatalf("%s, %d syncs: %d records", name, syncs, found)
			}
			for range syncs {
				fillLog(t, l, 1)
				ok(t, l.Sync())
			}
			found = l.Len()
			fillLog(t, l, 30)
			if _, anchored, err := l.core.prove(); !anchored || err != nil { // half of a Sync
				t.Fatalf("%s, %d syncs: anchored: %v, %v", name, syncs, anchored, err)
			}
			fillLog(t, l, 170) // the fine sums are those of the next block now
			m.put(memPath, m.cutTo(memPath, fineOffset, fineOffset+sector, l.core.geo.blockOffset(0)))
			l, err := Open[event](memPath, withSystem(m))
			if err != nil {
				t.Errorf("%s, %d syncs: %v", name, syncs, err)
				continue
			}
			if l.Len() < found {
				t.Errorf("%s, %d syncs: %d records, %d were durable", name, syncs, l.Len(), found)
			}
			wantEvents(t, l, 0, l.Len())
		}
	}
}

// cutInSync is a system that loses power in the middle of a sync, when nothing that
// was written since the last one is on the disk but the checkpoints.
type cutInSync struct {
	*memory
	left [][]byte
}

type cutInSyncFile struct {
	file
	s *cutInSync
}

func (s *cutInSync) Open(path string, flag int) (file, error) {
	f, err := s.memory.Open(path, flag)
	return cutInSyncFile{f, s}, err
}

func (f cutInSyncFile) Sync() error {
	if f.s.files[memPath] != nil {
		f.s.left = append(f.s.left, f.s.cutTo(memPath, checkpointOffset, checkpointOffset+checkpointStride))
	}
	return f.file.Sync()
}

func TestCheckpointSaysNothingBeforeItIsDurable(t *testing.T) {
	s := &cutInSync{memory: newMemory()}
	l := must[*Log[event]](t)(Create[event](memPath, withSystem(s)))
	s.left = nil
	for range 3 {
		fillLog(t, l, 200)
		ok(t, l.Sync())
	}
	ok(t, l.Close())
	if len(s.left) < 4 {
		t.Fatalf("%d syncs were cut", len(s.left))
	}
	for i, img := range s.left {
		m := newMemory()
		m.put(memPath, img)
		l, err := Open[event](memPath, withSystem(m))
		if err != nil {
			t.Errorf("sync %d: %v", i, err)
			continue
		}
		if synced := uint64(200 * min(i, 3)); l.Len() < synced {
			t.Errorf("sync %d: %d records, %d were durable", i, l.Len(), synced)
		}
		wantEvents(t, l, 0, l.Len())
	}
}
