package main

import (
	"strings"
	"testing"
	"time"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// C141: a numeric offset is one instant, whatever the zone of the machine or of
// -zone.
func TestC141NumericOffsetsAreExactInEveryZone(t *testing.T) {
	tests := []struct{ offset, want string }{
		{"-0700", "2000-10-10T20:55:36Z"},
		{"+0000", "2000-10-10T13:55:36Z"},
		{"-0000", "2000-10-10T13:55:36Z"},
		{"-0330", "2000-10-10T17:25:36Z"},
		{"+0545", "2000-10-10T08:10:36Z"},
		{"+1400", "2000-10-09T23:55:36Z"},
		{"-1200", "2000-10-11T01:55:36Z"},
		{"UTC", "2000-10-10T13:55:36Z"},
		{"GMT", "2000-10-10T13:55:36Z"},
	}
	local := time.Local
	defer func() { time.Local = local }()
	for _, machine := range []string{"UTC", "America/St_Johns", "Asia/Kathmandu", "Pacific/Kiritimati"} {
		time.Local = zone(t, machine) // as TZ sets it
		for _, flag := range []*time.Location{time.UTC, time.Local, zone(t, "America/Los_Angeles")} {
			for _, tt := range tests {
				got, err := parseTime("10/Oct/2000:13:55:36 "+tt.offset, flag)
				if err != nil || got.UTC().Format(time.RFC3339) != tt.want {
					t.Errorf("TZ %s, -zone %v, %s: %v, %v; want %s", machine, flag, tt.offset, got, err, tt.want)
				}
			}
		}
	}
}

func TestC141TimeWithoutZoneIsOfTheGivenZone(t *testing.T) {
	tests := []struct{ zone, wall, want string }{
		{"UTC", "10/Oct/2000:13:55:36", "2000-10-10T13:55:36Z"},
		{"America/St_Johns", "10/Oct/2000:13:55:36", "2000-10-10T16:25:36Z"},
		{"Asia/Kathmandu", "10/Oct/2000:13:55:36", "2000-10-10T08:10:36Z"},
		// Clocks are set forward from 02:00 to 03:00.
		{"Europe/Berlin", "31/Mar/2024:01:59:59", "2024-03-31T00:59:59Z"},
		{"Europe/Berlin", "31/Mar/2024:03:00:00", "2024-03-31T01:00:00Z"},
		{"Europe/Berlin", "31/Mar/2024:02:30:00", ""},
		// Clocks are set back from 03:00 to 02:00: the first of two.
		{"Europe/Berlin", "27/Oct/2024:02:30:00", "2024-10-27T00:30:00Z"},
		{"Europe/Berlin", "27/Oct/2024:03:00:00", "2024-10-27T02:00:00Z"},
		{"America/New_York", "03/Nov/2024:01:30:00", "2024-11-03T05:30:00Z"},
		{"America/New_York", "10/Mar/2024:02:00:00", ""},
		{"America/New_York", "10/Mar/2024:03:00:00", "2024-03-10T07:00:00Z"},
		// Clocks change by half an hour; a whole day never was.
		{"Australia/Lord_Howe", "07/Apr/2024:01:45:00", "2024-04-06T14:45:00Z"},
		{"Pacific/Apia", "30/Dec/2011:12:00:00", ""},
		{"Pacific/Apia", "31/Dec/2011:12:00:00", "2011-12-30T22:00:00Z"},
	}
	for _, tt := range tests {
		got, err := parseTime(tt.wall, zone(t, tt.zone))
		switch {
		case tt.want == "" && (err == nil || !strings.Contains(err.Error(), "no such time")):
			t.Errorf("%s in %s: %v, %v; there is no such time", tt.wall, tt.zone, got, err)
		case tt.want != "" && (err != nil || got.UTC().Format(time.RFC3339) != tt.want):
			t.Errorf("%s in %s: %v, %v; want %s", tt.wall, tt.zone, got.UTC(), err, tt.want)
		}
	}
}

func TestC141OtherZonesAndNoTimesAreErrors(t *testing.T) {
	for _, s := range []string{
		"10/Oct/2000:13:55:36 PST", "10/Oct/2000:13:55:36 CEST", "10/Oct/2000:13:55:36 ", "10/Oct/2000:13:55:36 Z",
		"10/Oct/2000:13:55:36 -07", "10/Oct/2000:13:55:36 -07:00", "10/Oct/2000:13:55:36 0700",
		"10/Oct/2000:13:55:36 -0760", "10/Oct/2000:13:55:36 +1401", "10/Oct/2000:13:55:36 +9900", "10/Oct/2000:13:55:36 -+100",
		"10/Oct/2000:13:55:36 -0700 x", "10/Oct/2000:13:55:36  -0700",
		"31/Feb/2000:13:55:36 -0700", "29/Feb/2023:00:00:00 +0000", "00/Jan/2000:00:00:00 +0000", "32/Jan/2000:00:00:00 +0000",
		"10/oct/2000:13:55:36 -0700", "10/Okt/2000:13:55:36 -0700", "10/10/2000:13:55:36 -0700",
		"10/Oct/2000:24:00:00 -0700", "10/Oct/2000:13:60:36 -0700", "10/Oct/2000:13:55:60 -0700",
		"1/Oct/2000:13:55:36 -0700", "10/Oct/00:13:55:36 -0700", "10/Oct/2000 13:55:36 -0700", "+1/Oct/2000:13:55:36 -0700",
		"2000-10-10T13:55:36Z", "", " ", "10/Oct/2000:13:55",
	} {
		if got, err := parseTime(s, time.UTC); err == nil {
			t.Errorf("%q is taken for %v", s, got)
		}
	}
	if _, err := parseTime("29/Feb/2024:00:00:00 +0000", time.UTC); err != nil {
		t.Error(err)
	}
}
