//go:build !race

package share

const raced = false
