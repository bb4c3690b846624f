package program

import "testing"

func TestByteSize(t *testing.T) {
	for s, want := range map[string]ByteSize{"1": 1, "1024": 1024, "64KiB": 65536, "256MiB": 256 * MiB, "1048576MiB": MaxByteSize} {
		var b ByteSize
		if err := b.Set(s); err != nil || b != want {
			t.Errorf("%s is %d, error %v", s, b, err)
		}
		var back ByteSize
		if err := back.Set(b.String()); err != nil || back != b {
			t.Errorf("%v is not read back: %v", b, err)
		}
	}
}
