//go:build !race

package ordered_test

const raced = false
