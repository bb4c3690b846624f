package main

import (
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tests, also where the system has none
)

// Days follow one another whatever clocks do: in Cairo and São Paulo they were set
// at midnight, in Apia a day was left out, in Lord Howe they move by half an hour.
func TestDatesFollowOneAnotherInEveryZone(t *testing.T) {
	defer func(zone *time.Location) { time.Local = zone }(time.Local)
	for _, zone := range []string{"UTC", "Africa/Cairo", "America/Sao_Paulo", "Pacific/Apia", "Australia/Lord_Howe", "America/New_York", "Asia/Kathmandu"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		time.Local = loc
		want := time.Date(2009, 12, 25, 12, 0, 0, 0, time.UTC)
		for d := range (span{mustDate("2009-12-25"), 6 * 366}).all() {
			name := want.Format(time.DateOnly)
			if back, err := parseDate(name); d.String() != name || back != d || err != nil {
				t.Fatalf("%s: %v, want %s, which is read as %v, error %v", zone, d, name, back, err)
			}
			if first := d.time(); dateOf(first) != d || dateOf(first.Add(24*time.Hour-1)) != d || dateOf(first.Add(-1)) != d-1 || dateOf(first.In(loc)) != d {
				t.Fatalf("%s: the moments of %v are on other days", zone, d)
			}
			want = want.Add(24 * time.Hour)
		}
	}
}

func TestParseDate(t *testing.T) {
	for _, s := range []string{"0001-01-01", "1969-12-31", "1970-01-01", "2000-02-29", "2024-02-29", "2026-12-31", "9999-12-31"} {
		if d, err := parseDate(s); err != nil || d.String() != s || d < firstDate || d > lastDate {
			t.Errorf("%s is read as %v (%d), error %v", s, d, d, err)
		}
	}
	for _, s := range []string{"", "2026-3-4", "2026-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "2026-01-32", "20260304", "2026-03-04 ", " 2026-03-04", "0000-01-01", "10000-01-01", "today"} {
		if d, err := parseDate(s); err == nil {
			t.Errorf("%q is read as %v", s, d)
		}
	}
	if mustDate("2024-03-01")-mustDate("2024-02-28") != 2 || mustDate("2026-01-01")-mustDate("2025-12-31") != 1 {
		t.Error("the calendar has holes")
	}
}

func TestTemplates(t *testing.T) {
	d := mustDate("2026-03-04")
	for tmpl, want := range map[template]string{
		"http://h/data/{date}.csv.gz":                      "http://h/data/2026-03-04.csv.gz",
		"https://h:8443/{year}/{month}/{day}.gz?of={date}": "https://h:8443/2026/03/04.gz?of=2026-03-04",
	} {
		if got := tmpl.url(d); got != want || tmpl.check() != nil {
			t.Errorf("%s gives %s, error %v", tmpl, got, tmpl.check())
		}
	}
	for tmpl, words := range map[template]string{
		"http://h/data.gz":      "no {date}",
		"http://h/{year}{day}":  "no {date}",
		"http://h/{date}{hour}": "only {date}",
		"ftp://h/{date}":        "http://",
		"{date}":                "http://",
		"http:///{date}":        "no host",
		"http://h:port/{date}":  "invalid port",
	} {
		if err := tmpl.check(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: error %v, want %s", tmpl, err, words)
		}
	}
}

func TestSpan(t *testing.T) {
	s := span{mustDate("2026-02-27"), 3}
	var got []string
	for d := range s.all() {
		got = append(got, d.String())
	}
	if !slices.Equal(got, []string{"2026-02-27", "2026-02-28", "2026-03-01"}) || s.last().String() != "2026-03-01" {
		t.Errorf("%v to %v", got, s.last())
	}
}
