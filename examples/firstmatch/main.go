// Firstmatch says which is the first file, in order, that contains a pattern, and
// stops as soon as that is certain. It searches several files at once, and gives
// the answer that a search of one file after the other would give.
//
//	go run ./examples/firstmatch 'func main()' ~/src         # a fixed string
//	firstmatch -e -i 'time ?out' -order mtime -z /var/log    # the oldest log that has it
//	firstmatch -count 10 Deprecated: . | less                # the first ten lines
//
// # What matches
//
// PATTERN is a fixed string, compared byte by byte; with -e it is a regular
// expression of Go (package regexp/syntax). With -i upper and lower case are the
// same, by the simple folding of Unicode: k also finds the Kelvin sign K. A match
// lies within a line. So a line break in a fixed string is refused, and ^ and $
// are the ends of the line. An empty pattern is refused too; an expression that
// matches nothing at all, such as x*, matches each line once. A pattern has at
// most 16 KiB.
//
// A line ends with LF or CRLF, the last one perhaps with neither; a CR before the
// LF is no part of the line, though a fixed string may have one. Bytes that are no
// valid UTF-8 are searched and printed as they are; to an expression each of them
// is U+FFFD.
//
// # Output
//
//	path:line:column:text
//
// for each of the first -count lines that match, each once: at its first match,
// so that overlaps make no difference. The column counts bytes from 1. Of a line
// of more than 4 KiB that much is shown, from 1 KiB before the match on, with
// dots where it is cut. (If an expression matches more than 3 KiB of a line that
// is longer than the buffer, it is the line's beginning.) In a file that has a NUL
// in its first 8 KiB and before the end of the text, the text is "binary file
// matches", and no further line of it counts.
//
// A path that has control characters in it, such as a newline, or begins with a
// double quote, is printed in double quotes with escapes as in C, so that a match
// is always one line. All other names are printed as they are, valid UTF-8 or not.
//
// # Which files, in which order
//
// Each PATH is a file, a folder, or - for standard input; without any it is the
// working directory. A folder stands for the files in and below it, but those that
// are hidden (whose name, or a folder's, begins with a dot) are passed over unless
// -hidden is given, and so are those larger than -max-size, symbolic links, FIFOs,
// sockets, devices, and (on Unix) the file that the output goes to. A link that is
// itself a PATH is followed; a FIFO or device that is a PATH is read as it comes,
// and a match in it is printed at once. With -z what is in .gz and .zst files (.tgz,
// .tzst) is searched instead of them, if they begin as such; members one after the
// other are one text, and a zstd window has at most 128 MiB.
//
//	-order path   name by name: what is in a comes before a.txt (the default)
//	-order given  the PATHs as given, within a folder by path
//	-order name   by the last part of the path
//	-order mtime  oldest first
//	-order size   smallest first
//
// Files that are alike in name, mtime or size are in path order. Names are
// compared byte by byte. A file reached by several PATHs is searched once, where it
// comes first. A PATH that the walk of another one would pass over, as it is
// hidden, say, is searched after that.
//
// # Errors
//
// What cannot be read, a file or a folder, is an error in its place: before the
// match it ends the search, since the match might have been there; after it, it
// makes no difference. With -skip-errors it is reported, if it comes before the
// last match, and passed over. A compressed file that is cut off, or a disk that
// fails in the middle of a file, gives the matches before the fault first. In the
// orders name, mtime and size what cannot be listed comes before all files.
//
// A file that becomes shorter while it is read is searched as far as it was there,
// which is reported and no error. One that grows is searched to its end.
//
//	0    found; or the reader of the output went away (| head), which is quiet
//	1    not found
//	2    an error, one line of which is on stderr; wrong flags;
//	     or, with -skip-errors, nothing found in what could be read
//	130  interrupted by Ctrl-C, SIGTERM or SIGHUP
//
// On a terminal stderr shows the progress, unless -q is given. -stats adds what was
// searched, and what was passed over and why.
//
// # How it works
//
//	walk ──> search × n ──> lines ──> the first -count ──> print
//
// The walk is a stream of its own, a Reader with no goroutine: whichever worker
// wants a file goes on with it. So it is ahead by no more than the window of the
// search, 4·n files, and holds the lists of the folders that it is in. The search
// is ordered.FilterMap. A file that has -count matches, or an error, makes all
// after it pointless: those are not opened any more, and if they are being read
// that is broken off. A file that matches is first read to the end of the buffer
// only; the lines that are left in it are searched when they are to be printed.
//
// On Linux a file costs four system calls (openat in its folder, fstat, read,
// close) and a folder four, for their kinds are in the listing.
//
// # Memory
//
// A file is never held whole: each of the n searches has a buffer of 128 KiB, and
// each file in the window that has a match and is not yet at its end keeps one, so
// there are at most 4·n+1. The orders name, mtime and size hold the path of every
// file. With -z add what a decompressor needs: for zstd, its window.
//
// Measured on Linux, the most that was resident: 7 MB for a file of 3 GB and for a
// line of 100 MB, 10 MB for a tree of 11,464 files with -n 8 or 64, 15 MB for the
// same by size, 19 MB while printing each of its lines that has an e.
//
// # Limits
//
// An expression on a line that is longer than the buffer is run rune by rune, at
// some 20 MB/s. UTF-16 is bytes like any other. What changes while it is searched
// is found as it was when it was read. The opening of a network file system that
// hangs cannot be interrupted: after Ctrl-C the program ends without it.
package main

import (
	"context"
	"os"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// abortGrace is how long an interrupted run may take to wind up before the
// program ends without it: it may be held in the opening of a FIFO.
const abortGrace = 200 * time.Millisecond

func main() {
	program.MainAborting(abortGrace, func(ctx context.Context) int {
		return run(ctx, os.Args[1:], environment{
			stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, sys: theSystem,
		})
	})
}
