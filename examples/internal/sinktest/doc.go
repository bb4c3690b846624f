// Package sinktest holds the tests of sink.SQL against a real database, SQLite,
// which the root module does without.
package sinktest
