package sink

import (
	"time"

	"github.com/klauspost/compress/gzip"
)

// part is a file that is being written under a hidden name.
type part struct {
	temp  string
	file  file
	zip   *gzip.Writer // nil without compression
	begun time.Time
	size  int64 // bytes given to Write
	off   int64 // bytes of the file
}

func newPart(temp string, f file, zip bool) *part {
	p := &part{temp: temp, file: f, begun: time.Now()}
	if zip {
		p.zip = gzip.NewWriter((*partEnd)(p))
	}
	return p
}

func (p *part) Write(b []byte) (int, error) {
	p.size += int64(len(b))
	if p.zip != nil {
		return p.zip.Write(b)
	}
	return (*partEnd)(p).Write(b)
}

// seal makes what was written durable.
func (p *part) seal() error {
	if p.zip != nil {
		if err := p.zip.Close(); err != nil {
			return err
		}
	}
	return p.file.Sync()
}

// partEnd writes at the end of the part's file.
type partEnd part

func (p *partEnd) Write(b []byte) (int, error) {
	n, err := p.file.WriteAt(b, p.off)
	p.off += int64(n)
	return n, err
}
