package main

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

var months = [...]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}

// maxOffset is the farthest that any zone is from UTC.
const maxOffset = 14 * time.Hour

// parseTime reads 10/Oct/2000:13:55:36 -0700. The offset may be missing: then
// the time is one of zone. Of abbreviations only UTC and GMT have one meaning;
// any other is an error, where time.Parse would make it UTC.
func parseTime(s string, zone *time.Location) (time.Time, error) {
	stamp, offset, hasOffset := strings.Cut(s, " ")
	wall, ok := parseWall(stamp)
	if !ok {
		return time.Time{}, errors.New("combined: bad time " + show(s))
	}
	if !hasOffset {
		return inZone(wall, zone)
	}
	if offset == "UTC" || offset == "GMT" {
		return wall, nil
	}
	east, ok := parseOffset(offset)
	if !ok {
		return time.Time{}, errors.New("combined: bad time zone " + show(offset))
	}
	return wall.Add(-east), nil
}

// parseWall reads what clock and calendar show, as if it were UTC.
func parseWall(s string) (time.Time, bool) {
	const layout = "10/Oct/2000:13:55:36"
	if len(s) != len(layout) || s[2] != '/' || s[6] != '/' || s[11] != ':' || s[14] != ':' || s[17] != ':' {
		return time.Time{}, false
	}
	month := 0
	for i, name := range months {
		if s[3:6] == name {
			month = i + 1
		}
	}
	var v [5]int
	for i, part := range [...]string{s[7:11], s[0:2], s[12:14], s[15:17], s[18:20]} {
		u, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return time.Time{}, false
		}
		v[i] = int(u)
	}
	year, day, hour, minute, second := v[0], v[1], v[2], v[3], v[4]
	if month == 0 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	return t, t.Day() == day // false for 31/Feb, which Date takes for March
}

// parseOffset reads -0330.
func parseOffset(s string) (time.Duration, bool) {
	if len(s) != len("-0330") || s[0] != '-' && s[0] != '+' {
		return 0, false
	}
	hours, err1 := strconv.ParseUint(s[1:3], 10, 8)
	minutes, err2 := strconv.ParseUint(s[3:5], 10, 8)
	east := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if err1 != nil || err2 != nil || minutes > 59 || east > maxOffset {
		return 0, false
	}
	if s[0] == '-' {
		east = -east
	}
	return east, true
}

// inZone returns the instant at which the clocks of zone show wall. Where they
// are set back, and show it twice, that is the first; where they are set forward
// and never show it, an error.
func inZone(wall time.Time, zone *time.Location) (time.Time, error) {
	const aside = 25 * time.Hour // on either side of a change, and of its offset
	var found time.Time
	for _, near := range []time.Duration{aside, -aside} {
		_, east := wall.Add(near).In(zone).Zone()
		t := wall.Add(-time.Duration(east) * time.Second)
		if _, then := t.In(zone).Zone(); then == east && (found.IsZero() || t.Before(found)) {
			found = t
		}
	}
	if found.IsZero() {
		return found, errors.New("combined: no such time in the zone " + zone.String() + ": " + wall.Format("2006-01-02 15:04:05"))
	}
	return found, nil
}
