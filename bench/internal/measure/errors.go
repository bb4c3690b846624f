package measure

import "errors"

var (
	// ErrWrongOutput is returned when a contender's output lacks an item, has
	// one too many, has a wrong value, or breaks the order that it promised.
	ErrWrongOutput = errors.New("measure: wrong output")

	// ErrLeftovers is returned when a contender's goroutines still run well
	// after it returned: they would be timed as part of the next one.
	ErrLeftovers = errors.New("measure: goroutines left behind")
)
