//go:build !race

package sink

const raceEnabled = false

// raced01 is raceEnabled as a number.
const raced01 = 0
