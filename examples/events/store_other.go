//go:build !unix

package main

import (
	"os"
	"unsafe"
)

// createStore holds the results in memory, and writes them to a new file at the
// end: this system has no map for it.
func createStore(path string, count int) (*store, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	records := make([]Result, count)
	return &store{records: records, unmap: func() error {
		_, err := file.Write(unsafe.Slice((*byte)(unsafe.Pointer(&records[0])), count*resultSize))
		if e := file.Close(); err == nil {
			err = e
		}
		return err
	}}, nil
}
