package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

const testLimit = 64 * program.MiB

var testDate = mustDate("2026-03-04")

// rows is a file with these lines below the header.
func rowsFile(lines ...string) []byte {
	return packed("time,account,amount\n" + strings.Join(lines, "\n"))
}

func decodeBytes(b []byte) (*day, error) { return decode(bytes.NewReader(b), testDate, testLimit) }

func mustDecode(t *testing.T, b []byte) *day {
	t.Helper()
	d, err := decodeBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRowsThatAreGoodAndRowsThatAreNot(t *testing.T) {
	const at = "2026-03-04T12:00:00Z"
	for _, c := range []struct {
		row    string
		volume cents  // if it is good
		why    string // if it is not
	}{
		{at + ",a,12.34", 1234, ""},
		{at + ",a,-12.34", 1234, ""},
		{at + ",a,7", 700, ""},
		{at + ",a,0.5", 50, ""},
		{at + ",a,0", 0, ""},
		{at + ",a,1000000000000.00", 1e14, ""},
		{at + ",a,1000000000000.01", 0, `bad amount "1000000000000.01"`},
		{at + ",a,99999999999999999999999999999999", 0, `bad amount "99999999999999999999999999999999"`},
		{at + ",a,", 0, `bad amount ""`},
		{at + ",a,-", 0, `bad amount "-"`},
		{at + ",a,.5", 0, `bad amount ".5"`},
		{at + ",a,5.", 0, `bad amount "5."`},
		{at + ",a,1.234", 0, `bad amount "1.234"`},
		{at + ",a,+1", 0, `bad amount "+1"`},
		{at + ",a,1e3", 0, `bad amount "1e3"`},
		{at + ",a, 1", 0, `bad amount " 1"`},
		{at + ",a,NaN", 0, `bad amount "NaN"`},
		{at + ",,1", 0, "no account"},

		// C141: a numeric offset is an instant, whatever the zone; none, or an
		// abbreviation, is not.
		{"2026-03-04T00:00:00Z,a,1", 100, ""},
		{"2026-03-04T23:59:59.999999999Z,a,1", 100, ""},
		{"2026-03-05T00:00:00Z,a,1", 0, "time 2026-03-05T00:00:00Z is on 2026-03-05"},
		{"2026-03-03T23:59:59Z,a,1", 0, "time 2026-03-03T23:59:59Z is on 2026-03-03"},
		{"2026-03-03T23:30:00-03:30,a,1", 100, ""},
		{"2026-03-05T13:59:59+14:00,a,1", 100, ""},
		{"2026-03-04T23:30:00-03:30,a,1", 0, "time 2026-03-04T23:30:00-03:30 is on 2026-03-05"},
		{"2026-03-04T05:44:59+05:45,a,1", 0, "time 2026-03-04T05:44:59+05:45 is on 2026-03-03"},
		{"2026-03-04T12:00:00,a,1", 0, `bad time "2026-03-04T12:00:00"`},
		{"2026-03-04T12:00:00 PST,a,1", 0, `bad time "2026-03-04T12:00:00 PST"`},
		{"2026-02-30T12:00:00Z,a,1", 0, `bad time "2026-02-30T12:00:00Z"`},
		{"2026-13-04T12:00:00Z,a,1", 0, `bad time "2026-13-04T12:00:00Z"`},
		{"2026-03-04T24:00:00Z,a,1", 0, `bad time "2026-03-04T24:00:00Z"`},
		{"2026-03-04T23:59:60Z,a,1", 0, `bad time "2026-03-04T23:59:60Z"`},
		{"2026-03-04T1:00:00Z,a,1", 0, `bad time "2026-03-04T1:00:00Z"`},
		{"2026-03-04T12:00:00,5Z,a,1", 0, "4 fields, not 3"},
		{`"2026-03-04T12:00:00,5Z",a,1`, 0, `bad time "2026-03-04T12:00:00,5Z"`},
		{"2026-03-04T12:00:00.Z,a,1", 0, `bad time "2026-03-04T12:00:00.Z"`},
		{"2026-03-04T12:00:00.5,a,1", 0, `bad time "2026-03-04T12:00:00.5"`},
		{"2026-03-04T12:00:00+24:00,a,1", 0, `bad time "2026-03-04T12:00:00+24:00"`},
		{"2026-03-04T12:00:00+01:60,a,1", 0, `bad time "2026-03-04T12:00:00+01:60"`},
		{"2026-03-04t12:00:00z,a,1", 0, `bad time "2026-03-04t12:00:00z"`},
		{"2026-03-04 12:00:00Z,a,1", 0, `bad time "2026-03-04 12:00:00Z"`},
		{"04/03/2026,a,1", 0, `bad time "04/03/2026"`},
		{",a,1", 0, `bad time ""`},

		// C138, C139: quotes and empty fields shift nothing.
		{`"` + at + `","a,b","1"`, 100, ""},
		{at + `,"say ""a""",1`, 100, ""},
		{at + `,"",1`, 0, "no account"},
		{at + `,"a,1`, 0, "quotes out of place"},
		{at + `,a"b,1`, 0, "quotes out of place"},
		{at + `,"a"b,1`, 0, "quotes out of place"},
		{at + `,a,"1`, 0, "quotes out of place"},
		{at + `,a,1"`, 0, "quotes out of place"},
		{at + ",a", 0, "2 fields, not 3"},
		{at + ",a,1,", 0, "4 fields, not 3"},
		{at + ";a;1", 0, "1 field, not 3"},

		// C135, C136
		{at + ",caf\xe9,1", 100, ""},
		{"\x00\x00\x00" + at + ",a,1", 0, `bad time "\x00\x00\x002026-03-04T12:00:00Z"`},
		{"\x00\x00\x00", 0, "1 field, not 3"},
	} {
		d, err := decodeBytes(rowsFile(c.row, at+",z,0", "", "#"))
		if err != nil {
			t.Errorf("%q: %v", c.row, err)
			continue
		}
		want := day{date: testDate, rows: 2, volume: c.volume, bad: badRows{1, "line 5: 1 field, not 3"}}
		if c.why != "" {
			want.rows, want.bad = 1, badRows{2, "line 2: " + c.why}
		}
		if d.date != want.date || d.rows != want.rows || d.volume != want.volume || d.bad != want.bad {
			t.Errorf("%q: %+v, want %+v", c.row, d, want)
		}
	}
}

func TestAccountsAreAddedUp(t *testing.T) {
	d := mustDecode(t, rowsFile(
		"2026-03-04T01:00:00Z,a,1.50", "2026-03-04T02:00:00Z,b,2", "2026-03-04T03:00:00Z,a,-0.25", `2026-03-04T03:00:00Z,"a",1`,
		"2026-03-04T03:00:00Z,caf\xe9,1", "2026-03-04T03:00:00Z,caf\xc3\xa9,1"))
	want := map[string]cents{"a": 275, "b": 200, "caf\xe9": 100, "café": 100}
	if len(d.accounts) != len(want) || d.rows != 6 || d.volume != 675 {
		t.Errorf("%d rows, volume %v, accounts %v", d.rows, d.volume, d.accounts)
	}
	for account, sum := range want {
		if got := d.accounts[account]; got == nil || *got != sum {
			t.Errorf("account %q: %v, want %v", account, got, sum)
		}
	}
}

func TestVolumeThatDoesNotFitIsABadRow(t *testing.T) {
	d := &day{accounts: map[string]*cents{}}
	adds := 0
	for ; d.add([]byte("a"), maxCents); adds++ {
	}
	if sum := *d.accounts["a"]; d.rows != adds || sum != d.volume || sum != maxCents*cents(adds) || sum < 0 {
		t.Errorf("%d rows, volume %d after %d", d.rows, d.volume, adds)
	}
}

func TestColumnsAreFoundByName(t *testing.T) {
	const row = "x,4,2026-03-04T12:00:00Z,y,a,z"
	for _, header := range []string{
		"n,amount,time,m,account,k", "N,AMOUNT,Time,M,Account,K", `"n","amount","time",,"account",`, "\ufeffn,amount,time,m,account,k\r",
	} {
		d, err := decodeBytes(packed(header + "\n" + row))
		if err != nil || d.rows != 1 || d.volume != 400 || d.accounts["a"] == nil {
			t.Errorf("%q: %+v, error %v", header, d, err)
		}
	}
	for _, header := range []string{"", "time,account", "time,account,amount,time", "time;account;amount", `time,account,"amount`, "\x00", strings.Repeat("x", 2*maxRow)} {
		if _, err := decodeBytes(packed(header + "\n" + row)); !errors.Is(err, errContent) {
			t.Errorf("%.20q: error %v", header, err)
		}
	}
	if _, err := decodeBytes(packed("")); !errors.Is(err, errContent) {
		t.Errorf("nothing: error %v", err)
	}
}

func TestADayWithoutTransactionsIsADay(t *testing.T) {
	for _, text := range []string{"time,account,amount", "time,account,amount\n", "time,account,amount\r\n\r\n\n"} {
		if d := mustDecode(t, packed(text)); d.rows != 0 || d.bad.count != 0 {
			t.Errorf("%q: %+v", text, d)
		}
	}
	_, err := decodeBytes(rowsFile("2026-03-05T12:00:00Z,a,1", "x"))
	if !errors.Is(err, errContent) || !strings.Contains(err.Error(), "none of 2 rows is good; line 2: time 2026-03-05T12:00:00Z is on 2026-03-05") {
		t.Errorf("of another day: error %v", err)
	}
}

// C126: lines just below, at and above the size of the buffer, with any end.
func TestC126LongRows(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		for _, size := range []int{maxRow - 2, maxRow - 1, maxRow, maxRow + 1, maxRow + 2, maxRow + 3, 3 * maxRow} {
			head, tail := "2026-03-04T12:00:00Z,", ",1"
			long := head + strings.Repeat("a", size-len(head)-len(tail)) + tail
			text := strings.Join([]string{"time,account,amount", head + "b" + tail, long, head + "c" + tail, long}, end)
			wantBad := 0
			if size > maxRow {
				wantBad = 2
			}
			for _, last := range []string{end, ""} {
				d := mustDecode(t, packed(text+last))
				if d.bad.count != wantBad || d.rows != 4-wantBad || d.accounts["c"] == nil {
					t.Errorf("%d bytes, end %q, last %q: %d rows, bad %+v", size, end, last, d.rows, d.bad)
				}
				if wantBad > 0 && d.bad.first != fmt.Sprintf("line 3: longer than %d bytes", maxRow) {
					t.Errorf("%q", d.bad.first)
				}
			}
		}
	}
}

// C128: a file that does not end as it should is none, wherever it is cut; several
// members are one file.
func TestC128CutAndJoinedFiles(t *testing.T) {
	file := rowsFile("2026-03-04T12:00:00Z,a,1", "2026-03-04T12:00:00Z,b,2\n")
	for cut := range file {
		if _, err := decodeBytes(file[:cut]); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("cut at %d of %d: error %v", cut, len(file), err)
		}
	}
	for i := range file {
		d, err := decodeBytes(flipped(file, i))
		if err == nil && (d.rows != 2 || d.volume != 300) { // some bytes of the header mean nothing
			t.Errorf("bit of byte %d: %+v", i, d)
		}
	}
	more := packed("2026-03-04T12:00:00Z,c,3")
	if d := mustDecode(t, bytes.Join([][]byte{file, packed(""), more}, nil)); d.rows != 3 || d.volume != 600 {
		t.Errorf("three members: %+v", d)
	}
	for _, junk := range []string{"x", "junk that is longer than a header", strings.Repeat("\x00", 16)} {
		if _, err := decodeBytes(append(bytes.Clone(file), junk...)); !errors.Is(err, errDamaged) && !errors.Is(err, errTruncated) {
			t.Errorf("%q behind it: error %v", junk, err)
		}
	}
	// However the bytes come, and with the end or after it.
	for _, r := range []io.Reader{iotest.OneByteReader(bytes.NewReader(file)), iotest.DataErrReader(bytes.NewReader(file)), iotest.HalfReader(bytes.NewReader(file))} {
		if d, err := decode(r, testDate, testLimit); err != nil || d.rows != 2 {
			t.Errorf("%+v, error %v", d, err)
		}
	}
	broken := errors.New("broken")
	for _, k := range []int{0, 1, 5, len(file) / 2} {
		if _, err := decode(io.MultiReader(bytes.NewReader(file[:k]), iotest.ErrReader(broken)), testDate, testLimit); !errors.Is(err, broken) {
			t.Errorf("broken after %d bytes: error %v", k, err)
		}
	}
}

func TestSizeIsBoundedToTheByte(t *testing.T) {
	text := "time,account,amount\n2026-03-04T12:00:00Z,a,1\n" + strings.Repeat("\n", 1000)
	file := packed(text)
	for limit := range int64(len(text) + 2) {
		_, err := decode(bytes.NewReader(file), testDate, limit)
		if fits := limit >= int64(len(text)); fits && err != nil || !fits && !errors.Is(err, errTooBig) {
			t.Errorf("limit %d of %d: error %v", limit, len(text), err)
		}
	}
	if _, err := decode(bytes.NewReader(bytes.Repeat(packed(""), 100)), testDate, 100); !errors.Is(err, errTooBig) {
		t.Errorf("members that unpack to nothing: error %v", err)
	}
}

// Each line is a good row, a bad one, or empty; nothing is lost, and no file makes
// the decoder panic.
func FuzzReadRows(f *testing.F) {
	f.Add("time,account,amount\n2026-03-04T12:00:00Z,a,1\r\n\n\"x\",,\n")
	f.Add("amount,\"account\",time\n1,\"a\"\"b\",2026-03-04T00:00:00Z")
	f.Add("\ufefftime,account,amount\n\"\n,\"\",\"\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := readRows(strings.NewReader(text), testDate)
		if err != nil {
			if !errors.Is(err, errContent) {
				t.Fatal(err)
			}
			return
		}
		lines := 0
		_, below, _ := strings.Cut(text, "\n")
		for line := range strings.Lines(below) {
			if line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"); line != "" {
				lines++
			}
		}
		if d.rows+d.bad.count != lines {
			t.Errorf("%d good rows and %d bad ones of %d", d.rows, d.bad.count, lines)
		}
		sum := cents(0)
		for _, c := range d.accounts {
			sum += *c
		}
		if sum != d.volume || len(d.accounts) > d.rows {
			t.Errorf("%d accounts with %v of %v", len(d.accounts), sum, d.volume)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(rowsFile("2026-03-04T12:00:00Z,a,1"))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, file []byte) {
		const limit = 1 << 16
		d, err := decode(bytes.NewReader(file), testDate, limit)
		if (d == nil) == (err == nil) {
			t.Errorf("day %v, error %v", d, err)
		}
	})
}
