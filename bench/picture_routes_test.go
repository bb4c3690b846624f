package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed95b73fdc/sluice/keyed"
)

func TestThePictureOfRoutingIsDrawn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if err := (routingPlan{keys: 100, repeats: 1}).draw(dir); err != nil {
		t.Fatal(err)
	}
	for name, begins := range map[string]string{"routing.svg": "<?xml", "routing.png": "\x89PNG"} {
		drawn, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.HasPrefix(drawn, []byte(begins)) {
			t.Errorf("%s: %d bytes, %v", name, len(drawn), err)
		}
	}
}

func TestTheLargestShareIsOverTheMean(t *testing.T) {
	hashes := make([]uint64, 20_000)
	for i := range hashes {
		hashes[i] = keyed.HashInt(int64(i))
	}
	if one, err := largestShare(1, 5, hashes); one != 1 || err != nil {
		t.Errorf("one member: %v, %v", one, err)
	}
	if ten, err := largestShare(10, 256, hashes); math.Abs(ten-1.14) > 0.1 || err != nil {
		t.Errorf("ten members: %v, %v", ten, err)
	}
}
