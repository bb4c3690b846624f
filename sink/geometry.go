package sink

// A log's file is a row of blocks, all of one size:
//
//	┌────────┬─────────────────────────────┬─────────────────────────────┬──
//	│ header │ words │ record │ record │ … │ words │ record │ record │ … │
//	└────────┴─────────────────────────────┴─────────────────────────────┴──
//	  1 or more blocks      block 0                      block 1
//
// A block begins with its words, 8 bytes each, which say how many of its records
// are there and what their checksum is:
//
//	live    moves with every record that is complete
//	anchor  two of them, used by turns: what the last Sync made durable
//	(one is spare)
//
// and goes on with its records, which lie side by side as in a []T.
// Offsets of blocks are multiples of pageUnit, so a block can be mapped, and
// damage to a page of one block is no damage to another one.

const (
	pageUnit  = 4096 // what sizes of blocks are multiples of
	wordBytes = 8
	wordsLen  = 4 * wordBytes
	mapBlocks = 16 // sizes of segments are multiples of so many blocks: 64 KiB, the largest page in use

	liveWord    = 0
	anchorWords = 1 // and 2
	anchorCount = 2
)

// geometry is how many bytes of what lie where.
type geometry struct {
	rec    int    // bytes of a record
	block  int    // bytes of a block
	per    uint64 // records in a block
	header int    // bytes before block 0, a multiple of block
}

// geometryOf returns the geometry for records of rec bytes. Its blocks are the
// smallest that are records to seven eighths at least.
func geometryOf(rec int) geometry {
	block := pageUnit
	for {
		per := (block - wordsLen) / rec
		if per*rec*8 >= block*7 {
			g := geometry{rec: rec, block: block, per: uint64(per)}
			need := fineOffset + fineBytes*(per+1)
			g.header = (need + block - 1) / block * block
			return g
		}
		block += pageUnit
	}
}

// at returns the block that record i is in, and which one of it it is.
func (g geometry) at(i uint64) (block, k uint64) { return i / g.per, i % g.per }

// blockOffset is where a block begins in the file.
func (g geometry) blockOffset(block uint64) int64 {
	return int64(g.header) + int64(block)*int64(g.block)
}

// offset is where record i begins in the file.
func (g geometry) offset(i uint64) int64 {
	b, k := g.at(i)
	return g.blockOffset(b) + wordsLen + int64(k)*int64(g.rec)
}

// end is the size of a file that holds n records and nothing else.
func (g geometry) end(n uint64) int64 {
	if n == 0 {
		return int64(g.header)
	}
	return g.offset(n-1) + int64(g.rec)
}
