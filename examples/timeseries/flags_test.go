package main

import (
	"strings"
	"testing"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

func TestWrongFlagsAreExplained(t *testing.T) {
	const url = "http://127.0.0.1/{date}"
	for _, c := range []struct {
		args  string
		words string
	}{
		{"-bad", "flag provided but not defined"},
		{"x", `unexpected argument "x"`},
		{"-n 0", "invalid value 0 for flag -n: it is 1 to 256"},
		{"-n 257", "invalid value 257 for flag -n"},
		{"-n many", `invalid value "many" for flag -n`},
		{"-days 0", "invalid value 0 for flag -days: it is 1 to 36600"},
		{"-days 36601", "invalid value 36601 for flag -days"},
		{"-from 9999-12-31 -days 2", "the last day would be after 9999-12-31"},
		{"-from 2026-02-29", `invalid value "2026-02-29" for flag -from: no date such as 2026-03-04`},
		{"-from", "flag needs an argument: -from"},
		{"-top -1", "invalid value -1 for flag -top"},
		{"-retries -1", "invalid value -1 for flag -retries"},
		{"-backoff 0s", "invalid value 0s for flag -backoff"},
		{"-backoff 2m", "invalid value 1m0s for flag -max-pause: it is not less than -backoff, 2m0s"},
		{"-timeout 0", "invalid value 0s for flag -timeout"},
		{"-idle -1s", "invalid value -1s for flag -idle"},
		{"-max-size 0", "invalid value 0 for flag -max-size"},
		{"-max-size 1TiB", `invalid value "1TiB" for flag -max-size: not a number of bytes up to 1048576MiB`},
		{"-max-size 1048577MiB", "not a number of bytes"},
		{"-max-size -1", "not a number of bytes"},
		{"-rows -1", "invalid value -1 for flag -rows"},
		{"-accounts 0", "invalid value 0 for flag -accounts"},
		{"-latency -1s", "invalid value -1s for flag -latency"},
		{"-fail-rate 1.1", "invalid value 1.1 for flag -fail-rate: it is 0 to 1"},
		{"-fail-rate -0.1", "invalid value -0.1 for flag -fail-rate"},
		{"-fail-rate NaN", "invalid value NaN for flag -fail-rate"},
		{"-missing 2026-04-01", "invalid value 2026-04-01 for flag -missing: it is not among the days 2026-01-01 to 2026-03-31"},
		{"-missing 2026-01-01,", `for flag -missing: no date`},
		{"-chart trend.gif", `invalid value "trend.gif" for flag -chart: its name ends in .svg or .png`},
		{"-chart=", "flag -chart has no value"},
		{"-url=", "flag -url has no value"},
		{"-url http://127.0.0.1/data", `invalid value "http://127.0.0.1/data" for flag -url: it has no {date}`},
		{"-url " + url + " -missing 2026-01-01", "flag -missing is for the built-in server"},
		{"-seed 2 -url " + url, "flag -seed is for the built-in server"},
		{"-fail-rate 0 -url " + url, "flag -fail-rate is for the built-in server"},
	} {
		r := trial{}.call(strings.Fields(c.args)...)
		if r.code != program.Usage || r.stdout != "" || !strings.Contains(r.stderr, c.words) || !strings.Contains(r.stderr, "usage: timeseries") {
			t.Errorf("%s: exit code %d, stdout %q, stderr:\n%s", c.args, r.code, r.stdout, r.stderr)
		}
	}
}

func TestHelp(t *testing.T) {
	r := trial{}.call("-h").want(t, program.OK)
	if !strings.HasPrefix(r.stderr, "usage: timeseries") || r.stdout != "" {
		t.Errorf("stderr %q", r.stderr)
	}
}
