package sink

import (
	"sync/atomic"
	"unsafe"
)

// All uses of unsafe. They rely on this: T has neither pointers nor padding
// (layoutOf checks that), records begin at multiples of T's size behind
// wordsLen, and blocks at multiples of pageUnit in memory that is aligned to
// wordBytes, so that words and records are aligned wherever they lie.

// bytesOf returns the memory of records.
func bytesOf[T any](records []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(records))), len(records)*int(unsafe.Sizeof(zero)))
}

// recordsOf is the opposite of bytesOf: b lies in a block, and len(b) is a
// multiple of T's size.
func recordsOf[T any](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// aligned returns n zero bytes that a block can lie in.
func aligned(n int) []byte {
	words := make([]uint64, (n+wordBytes-1)/wordBytes)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

func storeWord(block []byte, i int, w word) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&block[i*wordBytes])), uint64(w))
}

func loadWord(block []byte, i int) word {
	return word(atomic.LoadUint64((*uint64)(unsafe.Pointer(&block[i*wordBytes]))))
}

// storeFine and loadFine access entry k of the fine sums in the header's memory.
func storeFine(head []byte, k uint64, sum uint32) {
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&head[fineOffset+fineBytes*k])), sum)
}

func loadFine(head []byte, k uint64) uint32 {
	return atomic.LoadUint32((*uint32)(unsafe.Pointer(&head[fineOffset+fineBytes*k])))
}
