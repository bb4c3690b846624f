/*
 * The hand-over of a partition: lease.go, holder.go, holder_term.go, fence.go.
 *
 * Two holders compete for one partition, TERMS terms each. A lease may lapse at any
 * moment, and its holder need not notice: that stands for a clock that steps, a
 * renewal that is slow, a process that is stopped, all at once. A holder may go at
 * any moment too, as one that dies does. Each term reads a counter when it begins,
 * accepts items, and for each writes the counter it knows plus one. At a hand-over
 * it drains: it writes what it has accepted, then releases.
 *
 * Proved, for all interleavings:
 *   - a write that is accepted is based on the value that is there: no update is lost;
 *   - a write is refused only in a term whose lease has lapsed: what is handed over in
 *     good order is complete;
 *   - the epochs of the writes that are accepted do not fall.
 *
 * Variants that must fail, each of which breaks an assertion:
 *   -DBUG=1  the store accepts every write
 *   -DBUG=2  the first read does not raise the fence
 *   -DBUG=3  check and write are two steps
 *   -DBUG=4  a lease that is released or has lapsed leaves no epoch behind
 *   -DBUG=5  a hand-over releases before it drains
 */
#ifndef BUG
#define BUG 0
#endif
#define TERMS  2
#define ITEMS  2
#define EPOCHS 6

/* The lease store. */
byte epoch;             /* of the last lease */
bool held;              /* whether it is valid */
bool lapsed[EPOCHS];    /* the leases that ended without a release */

/* The store of the counter, and the fence before it. */
byte value;
byte mark;              /* the highest epoch that the fence has seen */
byte last;              /* the epoch of the last write accepted */

inline acquire(e) {
	atomic {
		!held ->
		held = true;
#if BUG == 4
		epoch = 1;
#else
		epoch++;
#endif
		e = epoch
	}
}

/* Release changes nothing if the lease is not the present one. */
inline release(e) {
	atomic {
		if
		:: held && epoch == e -> held = false
		:: else
		fi
	}
}

/* What the fence does: ok says whether it lets pass. */
inline check(e, ok) {
#if BUG == 1
	ok = true;
#else
	if
	:: e >= mark -> mark = e; ok = true
	:: else -> ok = false
	fi;
#endif
}

inline read(e, ok) {
	atomic {
#if BUG == 2
		ok = true;
#else
		check(e, ok);
#endif
		if
		:: ok -> known = value
		:: else -> assert(lapsed[e])
		fi
	}
}

inline write(e, ok) {
#if BUG == 3
	atomic { check(e, ok) };
#endif
	atomic {
#if BUG != 3
		check(e, ok);
#endif
		if
		:: ok ->
			assert(known == value);
			assert(e >= last);
			known++;
			value = known;
			last = e;
			pending--
		:: else ->
			assert(lapsed[e])
		fi
	}
}

active [2] proctype holder() {
	byte terms, e, known, pending, accepted;
	bool ok;
	do
	:: terms == TERMS -> break
	:: terms < TERMS ->
		terms++;
		acquire(e);
		read(e, ok);
		pending = 0;
		accepted = 0;
		do
		:: !ok -> break                                   /* fenced off */
		:: ok && accepted < ITEMS -> accepted++; pending++
		:: ok && pending > 0 -> write(e, ok)
		:: ok -> break                                    /* told to hand over */
		:: goto gone                                      /* dies, or has lost the lease */
		od;
#if BUG == 5
		release(e);
#endif
		do
		:: ok && pending > 0 -> write(e, ok)              /* drain */
		:: else -> break
		od;
		release(e);
gone:		skip
	od
}

/* A lease lapses. */
active proctype time() {
end:	do
	:: atomic { held -> lapsed[epoch] = true; held = false }
	od
}
