package sink

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The header says what the records are, and how far the log was once known to
// be good. Its numbers are in the byte order of the machine, as the records are.
//
//	   0  magic, version, byte order, size of a record, size of a block
//	  24  fingerprint of the layout, identity of the log, length of the layout's text
//	  48  the layout's text
//	1020  checksum of all that
//	1024  checkpoint \  written by turns, so that one is whole
//	1536  checkpoint /  at any time; in sectors of their own
//	2048  fine sums: entry k is the checksum of the first k records of the last block
//
// A checkpoint is a number that grows, the records known to be durable, the
// first one not dropped, and the checksum of these. The fine sums are what a log
// is cut by when its last block does not hold as a whole.
const (
	magic         = "SLUICLOG"
	formatVersion = 1
	byteOrder     = 0x01020304

	staticBytes = 1024
	textOffset  = 48
	sumOffset   = staticBytes - 4
	maxText     = sumOffset - textOffset

	checkpointOffset = 1024
	checkpointStride = 512
	checkpointBytes  = 32

	fineOffset = 2048
	fineBytes  = 4
)

// header is the part of it that never changes.
type header struct {
	layout layout
	id     uint64 // random
}

func (h *header) encode(g geometry) []byte {
	b := make([]byte, staticBytes)
	o := binary.NativeEndian
	copy(b, magic)
	o.PutUint32(b[8:], formatVersion)
	o.PutUint32(b[12:], byteOrder)
	o.PutUint32(b[16:], uint32(g.rec))
	o.PutUint32(b[20:], uint32(g.block))
	o.PutUint64(b[24:], h.layout.fingerprint())
	o.PutUint64(b[32:], h.id)
	text := h.layout.text[:min(len(h.layout.text), maxText)]
	o.PutUint64(b[40:], uint64(len(text)))
	copy(b[textOffset:], text)
	o.PutUint32(b[sumOffset:], crc32.Checksum(b[:sumOffset], castagnoli))
	return b
}

// decodeHeader reads the header of a log of records of layout want. The error
// tells what kind of file it is instead.
func decodeHeader(b []byte, want layout) (header, error) {
	o := binary.NativeEndian
	if len(b) < staticBytes || string(b[:len(magic)]) != magic {
		return header{}, ErrNotLog
	}
	if o.Uint32(b[12:]) != byteOrder {
		if binary.LittleEndian.Uint32(b[12:]) == byteOrder || binary.BigEndian.Uint32(b[12:]) == byteOrder {
			return header{}, fmt.Errorf("%w: written on a machine of the other byte order", ErrLayout)
		}
		return header{}, fmt.Errorf("%w: its header is damaged", ErrCorrupt)
	}
	if crc32.Checksum(b[:sumOffset], castagnoli) != o.Uint32(b[sumOffset:]) {
		return header{}, fmt.Errorf("%w: its header is damaged", ErrCorrupt)
	}
	if v := o.Uint32(b[8:]); v != formatVersion {
		return header{}, fmt.Errorf("%w: format version %d, this program knows %d", ErrLayout, v, formatVersion)
	}
	g := geometryOf(want.size)
	textLen := o.Uint64(b[40:])
	if textLen > maxText {
		return header{}, fmt.Errorf("%w: its header is damaged", ErrCorrupt)
	}
	text := string(b[textOffset : textOffset+textLen])
	if o.Uint64(b[24:]) != want.fingerprint() || o.Uint32(b[16:]) != uint32(g.rec) || o.Uint32(b[20:]) != uint32(g.block) {
		return header{}, fmt.Errorf("%w: its records are %s, asked for are %s", ErrLayout, text, want.text)
	}
	return header{want, o.Uint64(b[32:])}, nil
}

// checkpoint is what a log knows about itself without looking at its records.
type checkpoint struct {
	serial uint64 // grows
	synced uint64 // records that were durable
	first  uint64 // the first one that has not been dropped
}

// slot is where a checkpoint is written: never over the one before it.
func (c checkpoint) slot() int64 {
	return checkpointOffset + int64(c.serial%2)*checkpointStride
}

func (c checkpoint) encode(id uint64) []byte {
	b := make([]byte, checkpointBytes)
	o := binary.NativeEndian
	o.PutUint64(b, c.serial)
	o.PutUint64(b[8:], c.synced)
	o.PutUint64(b[16:], c.first)
	o.PutUint32(b[24:], crc32.Update(seed(id, c.serial), castagnoli, b[:24]))
	return b
}

// decodeCheckpoint returns the newest whole checkpoint in the header b, or that
// of a log of which nothing is known.
func decodeCheckpoint(b []byte, id uint64) (newest checkpoint) {
	o := binary.NativeEndian
	for i := range 2 {
		s := b[checkpointOffset+i*checkpointStride:][:checkpointBytes]
		c := checkpoint{o.Uint64(s), o.Uint64(s[8:]), o.Uint64(s[16:])}
		whole := o.Uint32(s[24:]) == crc32.Update(seed(id, c.serial), castagnoli, s[:24])
		if whole && c.serial > newest.serial && c.first <= c.synced {
			newest = c
		}
	}
	return newest
}
