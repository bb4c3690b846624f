package lockfree

// CacheLine is the number of bytes that two variables have to be apart so that
// a write to one does not slow down whoever uses the other. z/Architecture has
// lines of 256 bytes.
const CacheLine = 256
