package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"unsafe"
)

const resultSize = int(unsafe.Sizeof(Result{}))

// store is a file of results, mapped as a whole, with a cursor that writers
// advance. It has none of what sink.Log has besides: no header, no checksums, no
// recovery, and its size is known before.
type store struct {
	records []Result
	cursor  atomic.Uint64
	unmap   func() error
}

func (s *store) put(r Result) { s.records[s.cursor.Add(1)-1] = r }

func (s *store) close() error { return s.unmap() }

// rawRecords reads a file of results, in the byte order of the machine.
func rawRecords(path string, c config, each func(Result)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<20)
	var r Result
	buf := unsafe.Slice((*byte)(unsafe.Pointer(&r)), resultSize)
	for {
		if _, err := io.ReadFull(in, buf); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		each(r)
	}
}
