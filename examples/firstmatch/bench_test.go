package main

import (
	"io"
	"os"
	"testing"
)

// BenchmarkTree searches a tree in vain: FIRSTMATCH_TREE, or else this folder.
func BenchmarkTree(b *testing.B) {
	root := os.Getenv(treeEnv)
	if root == "" {
		root = "."
	}
	for _, n := range []string{"1", "2", "4", "8", "16"} {
		b.Run("n="+n, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				env := environment{sys: theSystem, stdin: os.Stdin, stdout: io.Discard, stderr: io.Discard}
				if code := run(b.Context(), []string{"-n", n, "no such " + "thing zzz", root}, env); code != exitNotFound {
					b.Fatal(code)
				}
			}
		})
	}
}
