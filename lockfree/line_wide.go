//go:build amd64 || arm64 || ppc64 || ppc64le

package lockfree

// CacheLine is the number of bytes that two variables have to be apart so that
// a write to one does not slow down whoever uses the other.
//
// It is 128 here. amd64 has lines of 64 bytes, but its second-level cache fetches
// them in pairs, so a neighbour at 64 bytes is pulled in and out as well. arm64
// has lines of 64 on most server cores and of 128 on Apple's and on some others;
// the program does not know which it will meet. POWER has lines of 128.
const CacheLine = 128
