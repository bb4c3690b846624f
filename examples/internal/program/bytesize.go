package program

import (
	"fmt"
	"strconv"
	"strings"
)

// Units of bytes.
const (
	KiB = 1 << 10
	MiB = 1 << 20
)

// MaxByteSize is the largest ByteSize that Set takes.
const MaxByteSize = 1 << 40

// ByteSize is the value of a flag: a number of bytes, with KiB or MiB allowed
// behind it.
type ByteSize int64

// String writes the number in the largest unit that divides it.
func (b ByteSize) String() string {
	switch {
	case b > 0 && b%MiB == 0:
		return strconv.FormatInt(int64(b/MiB), 10) + "MiB"
	case b > 0 && b%KiB == 0:
		return strconv.FormatInt(int64(b/KiB), 10) + "KiB"
	}
	return strconv.FormatInt(int64(b), 10)
}

// Set implements flag.Value.
func (b *ByteSize) Set(s string) error {
	unit := int64(1)
	if digits, ok := strings.CutSuffix(s, "MiB"); ok {
		s, unit = digits, MiB
	} else if digits, ok := strings.CutSuffix(s, "KiB"); ok {
		s, unit = digits, KiB
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v > MaxByteSize/unit || v < 0 {
		return fmt.Errorf("not a number of bytes up to %v", ByteSize(MaxByteSize))
	}
	*b = ByteSize(v * unit)
	return nil
}
