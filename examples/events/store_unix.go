//go:build unix

package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// createStore maps a new file with room for count results.
func createStore(path string, count int) (*store, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	size := count * resultSize
	if err := roomFor(file, size); err != nil {
		file.Close()
		return nil, &os.PathError{Op: "map", Path: path, Err: err}
	}
	if err := file.Truncate(int64(size)); err != nil {
		file.Close()
		return nil, err
	}
	data, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		file.Close()
		return nil, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	return &store{
		records: unsafe.Slice((*Result)(unsafe.Pointer(&data[0])), count),
		unmap: func() error {
			err := unix.Munmap(data)
			if e := file.Close(); err == nil {
				err = e
			}
			return err
		},
	}, nil
}
