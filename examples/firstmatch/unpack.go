package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is how far back a zstd file may refer: what the zstd program allows
// too, unless it is asked for more.
const maxWindow = 128 * miB

// An unpacker reads what is in a compressed file. It is used again and again.
type unpacker struct {
	magic  [4]byte
	joined io.Reader
	gz     *gzip.Reader
	zst    *zstd.Decoder
}

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	// A zstd file may begin with a frame to be skipped, 0x184D2A50 to 5F.
	zstdSkip = []byte{0x2a, 0x4d, 0x18}
)

// compressed reports whether a name is that of a compressed file.
func compressed(name string) bool {
	name = strings.ToLower(name)
	for _, suffix := range []string{".gz", ".tgz", ".zst", ".tzst"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// open returns a reader of what is in src, which is src as it is if it does not
// begin as a compressed file does.
func (u *unpacker) open(src io.Reader) (io.Reader, error) {
	n, err := io.ReadFull(src, u.magic[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	head := u.magic[:n]
	u.joined = io.MultiReader(bytes.NewReader(head), src)
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		if u.gz == nil {
			u.gz, err = gzip.NewReader(u.joined)
			return unpacking{u.gz}, unpackError(err)
		}
		return unpacking{u.gz}, unpackError(u.gz.Reset(u.joined))
	case bytes.HasPrefix(head, zstdMagic), n == 4 && head[0]>>4 == 5 && bytes.Equal(head[1:], zstdSkip):
		if u.zst == nil {
			u.zst, err = zstd.NewReader(u.joined, zstd.WithDecoderConcurrency(1),
				zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
			return unpacking{u.zst}, unpackError(err)
		}
		return unpacking{u.zst}, unpackError(u.zst.Reset(u.joined))
	}
	return u.joined, nil
}

// close lets go of what the last file needed.
func (u *unpacker) close() {
	if u.zst != nil {
		u.zst.Close()
	}
	u.zst, u.gz, u.joined = nil, nil, nil
}

// unpacking says of the errors of a decompressor that they are its.
type unpacking struct{ r io.Reader }

func (u unpacking) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != io.EOF {
		err = unpackError(err)
	}
	return n, err
}

func unpackError(err error) error {
	switch err {
	case nil:
		return nil
	case io.EOF:
		err = io.ErrUnexpectedEOF // of a header
	}
	return fmt.Errorf("decompress: %w", err)
}
