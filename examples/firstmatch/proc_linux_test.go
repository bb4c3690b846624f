package main

import (
	"os"
	"strings"
	"testing"
)

// A file whose size is told as 0 has lines all the same.
func TestC95FilesOfUnknownSizeAreSearched(t *testing.T) {
	const name = "/proc/cpuinfo"
	data, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(data), "processor") {
		t.Skip("no processor in ", name, ": ", err)
	}
	first := strings.Count(string(data[:strings.Index(string(data), "processor")]), "\n") + 1
	if got := call("-q", "processor", name); got.code != 0 || first != 1 || !strings.HasPrefix(got.stdout, name+":1:1:processor") {
		t.Errorf("%+v, want line %d", got, first)
	}
	empty := t.TempDir() + "/empty"
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := call("-q", "processor", empty, name); got.code != 0 || !strings.HasPrefix(got.stdout, name+":") {
		t.Errorf("behind an empty file: %+v", got)
	}
}
