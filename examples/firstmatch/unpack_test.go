package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

func zstded(text string, opts ...zstd.EOption) string {
	var b bytes.Buffer
	w := must(zstd.NewWriter(&b, append(opts, zstd.WithEncoderConcurrency(1))...))
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

func TestCompressedFilesAreSearchedInside(t *testing.T) {
	text := strings.Repeat("needl, eedle\n", 100_000) + "needle\n" // packed, there is no needle in it
	for name, pack := range map[string]func(string) string{"a.gz": gzipped, "a.ZST": func(s string) string { return zstded(s) }} {
		inTree(t, map[string]string{name: pack(text), "b": "needle"})
		call("needle").want(t, exitFound, "b:1:1:needle\n")
		want := name + ":100001:1:needle\n"
		call("-z", "needle").want(t, exitFound, want)
		call("-z", "-count", "2", "needle").want(t, exitFound, want+"b:1:1:needle\n")
		// By its beginning, if the name is one of a compressed file.
		inTree(t, map[string]string{"a.gz": "needle", "b.zst": "needle", "d.gz": "", "e.zst": "\x1f", "f.gz": pack(text[len(text)-7:])})
		call("-z", "-count", "5", "needle").want(t, exitFound, "a.gz:1:1:needle\nb.zst:1:1:needle\nf.gz:1:1:needle\n")
		callWith(environment{sys: theSystem, stdin: strings.NewReader(pack(text))}, "-z", "needle", "-").want(t, exitFound, "(standard input):100001:1:needle\n")
	}
}

// C128: members one after the other are one text.
func TestC128MembersAreJoined(t *testing.T) {
	for name, data := range map[string]string{
		"a.gz":  gzipped("one\nne") + gzipped("edle\ntwo") + gzipped(""),
		"a.zst": zstded("one\nne") + "\x50\x2a\x4d\x18\x03\x00\x00\x00..." + zstded("edle\ntwo"),
		"b.zst": "\x5f\x2a\x4d\x18\x00\x00\x00\x00" + zstded("one\nneedle"),
	} {
		inTree(t, map[string]string{name: data})
		call("-z", "needle").want(t, exitFound, name+":2:1:needle\n")
	}
}

// C128: a file that is cut off, or has something behind it, gives all that comes
// before the fault, and then one error; unless the answer came before it.
func TestC128FaultyCompressedFileIsAnErrorAfterWhatCouldBeRead(t *testing.T) {
	whole := gzipped("needle one\nsecond\nneedle three")
	for cut := 1; cut <= 20; cut++ {
		inTree(t, map[string]string{"a.gz": whole[:len(whole)-cut], "b": "needle"})
		r := call("-z", "-count", "9", "needle")
		r.wantError(t, "firstmatch: a.gz: decompress: ")
		if strings.Contains(r.stdout, "b:") || cut <= 8 && r.stdout != "a.gz:1:1:needle one\na.gz:3:1:needle three\n" {
			t.Errorf("cut by %d: %q", cut, r.stdout)
		}
		r = call("-z", "-skip-errors", "-count", "9", "needle")
		if r.code != exitFound || !strings.HasSuffix(r.stdout, "b:1:1:needle\n") || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("cut by %d: %+v", cut, r)
		}
	}
	inTree(t, map[string]string{"a.gz": whole + "16 bytes of junk"})
	call("-z", "needle").want(t, exitFound, "a.gz:1:1:needle one\n")
	r := call("-z", "-count", "3", "needle")
	r.wantError(t, "a.gz: decompress: ")
	if r.stdout != "a.gz:1:1:needle one\na.gz:3:1:needle three\n" {
		t.Errorf("%+v", r)
	}
	zst := zstded(strings.Repeat("needle\n", 1000))
	inTree(t, map[string]string{"a.zst": zst[:len(zst)-5], "b": "needle"})
	call("-z", "nothing").wantError(t, "a.zst: decompress: ")
}

// A scanning is used for one compressed file after another, also after one that
// was at fault.
func TestDecompressorsAreUsedAgain(t *testing.T) {
	files := map[string]string{}
	var want strings.Builder
	for i := range 60 {
		text := fmt.Sprintf("needle %d\n", i)
		name := fmt.Sprintf("%03d", i)
		switch i % 5 {
		case 0:
			files[name+".gz"] = gzipped(text)
			fmt.Fprintf(&want, "%s.gz:1:1:%s", name, text)
		case 1:
			files[name+".zst"] = zstded(text)
			fmt.Fprintf(&want, "%s.zst:1:1:%s", name, text)
		case 2:
			files[name+".gz"] = "\x1f\x8b broken"
		case 3:
			files[name+".zst"] = "\x28\xb5\x2f\xfd broken"
		default:
			files[name] = text
			fmt.Fprintf(&want, "%s:1:1:%s", name, text)
		}
	}
	inTree(t, files)
	for _, n := range []string{"1", "4"} {
		r := call("-z", "-n", n, "-skip-errors", "-count", "100", "needle")
		if r.stdout != want.String() || strings.Count(r.stderr, "decompress") != 24 {
			t.Errorf("%+v", r)
		}
	}
}

func TestWindowOfZstdIsBounded(t *testing.T) {
	data := zstded(strings.Repeat("needle\n", 100), zstd.WithWindowSize(2*maxWindow), zstd.WithSingleSegment(false))
	inTree(t, map[string]string{"a.zst": data})
	if r := call("-z", "needle"); r.code == exitFound {
		// The encoder has chosen a smaller window for so little: ask for it by hand.
		data := []byte(data)
		data[4] &^= 0x20         // no single segment
		data[5] = (28 - 10) << 3 // 256 MiB
		os.WriteFile("a.zst", data, 0o644)
		call("-z", "needle").wantError(t, "a.zst: decompress: ")
	}
}
