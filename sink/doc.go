// Package sink has what results come to rest in: a log of records that survives
// the process.
package sink
