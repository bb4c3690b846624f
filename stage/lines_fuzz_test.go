package stage_test

import "testing"

// FuzzLines compares Lines with linesOf, for any bytes, limit and sizes of
// reads: the sizes are the bytes of reads, used over and over, and 0 stands for
// as much as there is room for.
func FuzzLines(f *testing.F) {
	f.Add([]byte("one\ntwo\r\n\r\n\xff\x00three"), uint16(3), []byte{1}, true)
	f.Add([]byte("\r\r\n\n\ra"), uint16(1), []byte{2, 1}, false)
	f.Add([]byte("a line of more than sixty-four bytes, so that what its error keeps of it is less\r\nb"), uint16(10), []byte{0, 7, 3}, false)
	f.Fuzz(func(t *testing.T, data []byte, most uint16, reads []byte, with bool) {
		i := 0
		wantLines(t, &source{data: data, with: with, piece: func(room int) int {
			if len(reads) == 0 {
				return room
			}
			size := int(reads[i%len(reads)])
			i++
			if size == 0 {
				return room
			}
			return size
		}}, int(most)+1)
	})
}
