//go:build !unix

package main

import "io/fs"

const nonblock = 0

func idOf(fs.FileInfo) fileID { return fileID{} }
