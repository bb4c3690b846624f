package main

import (
	"fmt"
	"iter"
	"net/url"
	"strings"
	"time"
)

// A date is a day in UTC: the number of days since 1 January 1970. So the day
// after it is one more, whatever clocks did on that day in some zone or other.
type date int

const (
	secondsPerDay = 24 * 60 * 60
	firstDate     = date(-719162) // 0001-01-01
	lastDate      = date(2932896) // 9999-12-31
)

// parseDate reads a date such as 2026-03-04.
func parseDate(s string) (date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || len(s) != len(time.DateOnly) || t.Year() < 1 {
		return 0, fmt.Errorf("no date such as 2026-03-04: %q", s)
	}
	return dateOf(t), nil
}

// dateOf is the day in UTC on which t falls.
func dateOf(t time.Time) date {
	sec := t.Unix()
	d := sec / secondsPerDay
	if sec%secondsPerDay < 0 {
		d--
	}
	return date(d)
}

// time is the first moment of the day.
func (d date) time() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

func (d date) String() string { return d.time().Format(time.DateOnly) }

// A span is a number of days in a row.
type span struct {
	first date
	days  int
}

func (s span) last() date { return s.first + date(s.days) - 1 }

func (s span) all() iter.Seq[date] {
	return func(yield func(date) bool) {
		for d := s.first; d <= s.last(); d++ {
			if !yield(d) {
				return
			}
		}
	}
}

// A template is a URL with a date to be filled in.
type template string

// placeholders are what a template may have in braces, and the layouts of time
// for them.
var placeholders = map[string]string{"date": time.DateOnly, "year": "2006", "month": "01", "day": "02"}

// url is the URL of a day.
func (t template) url(d date) string {
	s := string(t)
	for name, layout := range placeholders {
		s = strings.ReplaceAll(s, "{"+name+"}", d.time().Format(layout))
	}
	return s
}

// check says what is wrong with the template.
func (t template) check() error {
	has := func(name string) bool { return strings.Contains(string(t), "{"+name+"}") }
	if !has("date") && (!has("year") || !has("month") || !has("day")) {
		return fmt.Errorf("it has no {date}, nor {year}, {month} and {day}")
	}
	filled := t.url(firstDate)
	if strings.ContainsAny(filled, "{}") {
		return fmt.Errorf("only {date}, {year}, {month} and {day} are filled in")
	}
	u, err := url.Parse(filled)
	switch {
	case err != nil:
		return reasonOf(err)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("it does not begin with http:// or https://")
	case u.Host == "":
		return fmt.Errorf("it names no host")
	}
	return nil
}
