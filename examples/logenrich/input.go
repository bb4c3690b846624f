package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// stdio is the file name that stands for stdin.
const stdio = "-"

// errInterrupted is what a read returns after interrupt.
var errInterrupted = errors.New("interrupted")

//go:embed sampledata/access.log
var sampleLog []byte

// An input is the log as it is read: decompressed, and counted before that.
type input struct {
	io.Reader
	name      string
	size      int64        // bytes in the file, 0 if not known
	raw       atomic.Int64 // bytes read of the file
	gzipped   bool
	interrupt func() // makes a read that waits, and all later ones, fail; may be called at any time
	close     func()
}

// openInput opens the file called name, stdin for "-", the sample for "".
func openInput(name string, stdin io.Reader) (*input, error) {
	in := &input{name: name, interrupt: func() {}, close: func() {}}
	var raw io.Reader
	switch name {
	case "":
		in.name, in.size, raw = "the sample", int64(len(sampleLog)), bytes.NewReader(sampleLog)
	case stdio:
		in.name, raw = "stdin", stdin
		if f, ok := stdin.(*os.File); ok {
			w, err := newWakeReader(f)
			if err != nil {
				return nil, err
			}
			in.attach(w, f)
			raw = w
		}
	default:
		f, err := openFile(name)
		if err != nil {
			return nil, err
		}
		w, err := newWakeReader(f)
		if err != nil {
			f.Close()
			return nil, err
		}
		in.attach(w, f)
		in.close = func() { w.Close(); f.Close() }
		raw = w
	}
	in.Reader = &gunzipper{in: in, raw: bufio.NewReaderSize(&counter{raw, &in.raw}, readBuffer)}
	return in, nil
}

func (in *input) attach(w *wakeReader, f *os.File) {
	in.interrupt, in.close = w.Interrupt, w.Close
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		in.size = info.Size()
	}
}

// counter counts what is read through it.
type counter struct {
	r io.Reader
	n *atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// A gunzipper undoes gzip if its input begins as gzip does, and else hands it
// through. Members that follow one another are one text; zeros after the last
// are padding; anything else after it is an error.
type gunzipper struct {
	in      *input
	raw     *bufio.Reader
	zip     *gzip.Reader
	started bool
	err     error
}

var gzipMagic = []byte{0x1f, 0x8b, 8}

func (g *gunzipper) Read(p []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	if !g.started {
		g.started = true
		if _, g.err = g.raw.Peek(1); g.err != nil {
			return 0, g.err
		}
		if g.in.gzipped = g.atMagic(); g.in.gzipped {
			if g.zip, g.err = gzip.NewReader(g.raw); g.err != nil {
				return 0, g.fail(g.err)
			}
			g.zip.Multistream(false)
		}
	}
	if !g.in.gzipped {
		return g.raw.Read(p)
	}
	for {
		n, err := g.zip.Read(p)
		switch {
		case errors.Is(err, io.EOF):
			if err = g.nextMember(); err == nil && n == 0 {
				continue
			}
			g.err = err
		case err != nil:
			g.err = g.fail(err)
		}
		if n > 0 || g.err != nil {
			return n, g.err
		}
	}
}

// atMagic waits for no more bytes than it needs to tell.
func (g *gunzipper) atMagic() bool {
	for n := 1; n <= len(gzipMagic); n++ {
		ahead, err := g.raw.Peek(n)
		if err != nil || !bytes.Equal(ahead, gzipMagic[:n]) {
			return false
		}
	}
	return true
}

// nextMember goes on to the next member, or returns io.EOF after the last.
func (g *gunzipper) nextMember() error {
	if g.atMagic() {
		if err := g.zip.Reset(g.raw); err != nil {
			return g.fail(err)
		}
		g.zip.Multistream(false)
		return nil
	}
	for {
		switch b, err := g.raw.ReadByte(); {
		case errors.Is(err, io.EOF):
			return io.EOF
		case err != nil:
			return g.fail(err)
		case b != 0:
			return g.fail(errors.New("junk after the end of the gzip data"))
		}
	}
}

// fail names the input in an error; one that ends within a member is no EOF.
func (g *gunzipper) fail(err error) error {
	if errors.Is(err, errInterrupted) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("gzip data is cut short")
	}
	var path *os.PathError
	if errors.As(err, &path) {
		return err
	}
	return fmt.Errorf("read %s: %w", g.in.name, err)
}
