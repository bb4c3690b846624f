package sink

import "hash/crc32"

// word is the state of a block in one store: how many of its records are
// complete, and the checksum of these. A block that was never written is all
// zero bytes, and so is its word.
type word uint64

func makeWord(count uint64, sum uint32) word { return word(uint64(sum)<<32 | count) }

func (w word) count() uint64 { return uint64(uint32(w)) }
func (w word) sum() uint32   { return uint32(w >> 32) }

// castagnoli is CRC-32C, for which amd64 and arm64 have instructions.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seed is the checksum of no records of a block. It depends on the log and on
// the block, so a block of another file, or one that was written to a wrong
// place, does not pass.
func seed(id, block uint64) uint32 {
	var b [16]byte
	for i := range 8 {
		b[i], b[8+i] = byte(id>>(8*i)), byte(block>>(8*i))
	}
	return crc32.Checksum(b[:], castagnoli)
}

func fold(sum uint32, records []byte) uint32 { return crc32.Update(sum, castagnoli, records) }
