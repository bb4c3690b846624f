package sink

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// C90, C92: what a reader has handed out, records, blocks that were copied and
// errors, is its receiver's: it says the same when the log is closed and its file
// is gone. (With -race every access to the map is checked for its alignment too.)
func TestWhatAReaderHasHandedOutOutlivesTheLog(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		path := newPath(t)
		l := must[*Log[event]](t)(Create[event](path, way))
		fillLog(t, l, 300)
		ok(t, l.Close())
		data := must[[]byte](t)(os.ReadFile(path))
		data[len(data)/2] ^= 0x10
		ok(t, os.WriteFile(path, data, 0o600))

		r, err := Open[event](path, way, ReadOnly())
		var records []event
		if err == nil {
			for i, e := range r.Records() {
				if e != eventOf(i) {
					t.Errorf("record %d is %v", i, e)
				}
				records = append(records, e)
			}
			err = r.Err()
			ok(t, r.Close())
		}
		if !errors.Is(err, ErrCorrupt) {
			t.Fatalf("a damaged log: %v", err)
		}
		before := err.Error()
		ok(t, os.Remove(path))
		if err.Error() != before || !strings.Contains(before, path) {
			t.Errorf("%q, and before %q", err, before)
		}
		for i, e := range records {
			if e != eventOf(uint64(i)) {
				t.Errorf("record %d is %v after the log was closed", i, e)
			}
		}
	})
}
