package keyed

import (
	"math/bits"
	"sync"
)

const (
	// logBits is the precision of a logarithm. At most 64 of it, times MaxWeight,
	// fits into 64 bits.
	logBits = 40
	// logIndex is how many bits of a number select an entry of the table. Between
	// entries the logarithm is taken to be straight, which makes it wrong by less
	// than one part in 4,000: too little to be seen in anybody's share.
	logIndex = 10
)

// logTable has log₂(1 + i/2^logIndex), in units of 2^-logBits.
type logTable [1<<logIndex + 1]uint64

// logs makes the table when it is first needed.
var logs = sync.OnceValue(func() *logTable {
	t := &logTable{}
	for i := range 1 << logIndex {
		t[i] = log2(1<<63 | uint64(i)<<(63-logIndex))
	}
	t[1<<logIndex] = 1 << logBits
	return t
})

// log2 returns the logarithm of m ÷ 2⁶³, which is in [1, 2), rounded down, bit by
// bit: the logarithm of a square is twice that of its root.
func log2(m uint64) (l uint64) {
	for range logBits {
		hi, lo := bits.Mul64(m, m) // m² ÷ 2¹²⁶ is in [1, 4)
		l <<= 1
		if hi>>63 != 0 {
			l |= 1
			m = hi
		} else {
			m = hi<<1 | lo>>63
		}
	}
	return l
}

// of returns -log₂((x+1) ÷ 2⁶⁴) in units of 2^-logBits. It grows no larger as x
// grows: the entries do not fall, and a straight line lies between its ends.
func (t *logTable) of(x uint64) uint64 {
	if x++; x == 0 {
		return 0
	}
	zeros := bits.LeadingZeros64(x)
	fraction := x << zeros << 1 // of 2⁶⁴, behind the leading one
	i := fraction >> (64 - logIndex)
	rest := fraction << logIndex >> 32
	mantissa := t[i] + (t[i+1]-t[i])*rest>>32
	return uint64(zeros+1)<<logBits - mantissa
}

// leastLog returns a number that logTable.of(x) is not less than, without the
// table: -log₂ u ≥ (1 - u) ÷ ln 2, of which the last factor, 1.44, is left out. That
// makes up for all inexactness, but for the very least numbers.
func leastLog(x uint64) uint64 {
	const inexact = 4
	l := ^x >> (64 - logBits)
	if l < inexact {
		return 0
	}
	return l
}
