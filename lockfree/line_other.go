//go:build !amd64 && !arm64 && !ppc64 && !ppc64le && !s390x

package lockfree

// CacheLine is the number of bytes that two variables have to be apart so that
// a write to one does not slow down whoever uses the other.
//
// It is 64 here: 386, riscv64 and loong64 have lines of 64 bytes; 32-bit arm and
// the MIPS family have lines of 32 or 64, and lose some memory.
const CacheLine = 64
