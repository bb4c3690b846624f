// Package measure times several ways of doing the same job against each other.
//
// It knows no library, only the name of the one whose wins and losses are told.
// A [Group] is one question ("what does an ordered map cost?"), a [Row] one
// setting of it ("n = 4"), a [Contender] one answer. Run takes them in turn,
// A B C A B C, so that a slow minute of the machine falls on all of them;
// ratios are computed within one repeat and only then summarised. What the
// consumer of each single run saw is compared with what it had to see, and a
// difference ends the measurement: a figure for a wrong output is never printed.
//
// Not promised: that two runs on a busy machine agree. Each table therefore
// shows the smallest and the largest repeat beside the median.
package measure
