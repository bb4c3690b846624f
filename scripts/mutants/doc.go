// Command mutants plants faults, one at a time, into a copy of the project, and expects
// the tests that are named with each to fail. A fault that no test notices has survived,
// and means that a test is missing.
//
//	go run ./scripts/mutants                    # all of them
//	go run ./scripts/mutants -run 'deque|spsc'  # those whose name matches
//	go run ./scripts/mutants -list
//
// The faults are listed in scripts/mutants.d/*.txt, in blocks with an empty line in
// between:
//
//	# why, in one line
//	file lockfree/spsc.go
//	- 	text that stands in the file exactly once,
//	- 	on one line or on several
//	+ 	what takes its place; without such lines the text is deleted
//	test ./lockfree -race -run 'TestSPSC'
//
// The test line is what follows "go test", with the shell's quoting. A line "tries 5"
// runs it up to five times, for faults that only an unlucky order of events brings to
// light. The name of a fault is its file and its first line.
//
// Exit status 1 says that a fault has survived, does not apply any more, or does not
// compile, or that the tests fail without any fault.
package main
