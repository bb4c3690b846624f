//go:build race

package sink

const raceEnabled = true

// raced01 is raceEnabled as a number.
const raced01 = 1
