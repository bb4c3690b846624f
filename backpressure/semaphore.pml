/*
 * The hand-over of the padded semaphore: padded.go and ticket.go.
 *
 * Clients that acquire, some of them more than one permit and some of them giving up
 * at any moment, and release. Checked: no more permits are out than there are; everyone
 * who does not give up is served (no invalid end state); a small request does not
 * overtake a large one that has been queued before; all permits are there at the end.
 *
 * Variants that must fail: -DBUG=1 the flag is set after the look at what is free,
 * -DBUG=2 Release does not look whether somebody waits, -DBUG=3 who gives up at the head
 * of the queue does not let the next one in (C60), -DBUG=4 who was served and gives up
 * keeps the permits, -DBUG=5 the fast path does not mind those who wait.
 */

#ifndef BUG
#define BUG 0
#endif
#define N     2             /* permits */
#define CLIENTS 3

#define QUEUED  0
#define GRANTED 1
#define LEFT    2

int  freed = N;             /* the word: permits and flag, changed together in one step */
bool waiting;
bool lock;
byte queue[CLIENTS];        /* clients, head first */
byte queued;                /* how many */
byte state[CLIENTS];
byte want[CLIENTS];
chan notify0 = [1] of { bit };
chan notify1 = [1] of { bit };
chan notify2 = [1] of { bit };
byte out;                   /* permits in use */
byte i;                     /* under the lock */

#define notified(c) ((c == 0 && nempty(notify0)) || (c == 1 && nempty(notify1)) || (c == 2 && nempty(notify2)))

inline tell(c) {
	if
	:: c == 0 -> notify0 ! 1
	:: c == 1 -> notify1 ! 1
	:: c == 2 -> notify2 ! 1
	fi
}

inline shift(from) {
	i = from;
	do
	:: i + 1 < queued -> queue[i] = queue[i + 1]; i++
	:: else -> break
	od;
	queued--;
	i = 0
}

/* admit serves the queue from its head; the lock is held, and given up. */
inline admit() {
	do
	:: queued > 0 && freed >= want[queue[0]] ->
		atomic { freed = freed - want[queue[0]] };
		state[queue[0]] = GRANTED;
		tell(queue[0]);
		d_step { shift(0) }
	:: else -> break
	od;
	if
	:: queued == 0 -> waiting = false
	:: else
	fi;
	lock = false
}

inline release(k) {
	out = out - k;
#if BUG == 2
	freed = freed + k
#else
	if
	:: atomic { !waiting -> freed = freed + k }
	:: waiting ->
		atomic { !lock -> lock = true };
		freed = freed + k;
		admit()
	fi
#endif
}

proctype client(byte me; byte k; bool mayleave) {
	bool have = false;
	want[me] = k;
	if /* the fast path */
#if BUG == 5
	:: atomic { freed >= k -> freed = freed - k; have = true; assert(queued == 0 || want[queue[0]] <= 1) }
#else
	:: atomic { !waiting && freed >= k -> freed = freed - k; have = true; assert(queued == 0) }
#endif
	:: waiting || freed < k ->
#if BUG == 1
		bool fits = (freed >= k);
		atomic { !lock -> lock = true };
		queue[queued] = me; queued++;
		if
		:: fits -> waiting = true; admit()
		:: else -> waiting = true; lock = false
		fi;
#else
		atomic { !lock -> lock = true };
		waiting = true;
		d_step { queue[queued] = me; queued++ };
		admit();
#endif
		do
		:: notified(me) -> have = true; break
		:: mayleave -> /* the context is done */
			atomic { !lock -> lock = true };
			if
			:: state[me] == QUEUED ->
				d_step {
					i = 0;
					do
					:: queue[i] != me -> i++
					:: else -> break
					od;
					shift(i)
				}
			:: state[me] == GRANTED ->
#if BUG != 4
				freed = freed + k
#else
				skip
#endif
			fi;
			state[me] = LEFT;
#if BUG == 3
			lock = false;
#else
			admit();
#endif
			break
		od
	fi;
	if
	:: have ->
		atomic { out = out + k; assert(out <= N) };
		release(k)
	:: else
	fi
}

init {
	atomic {
		run client(0, 1, false);
		run client(1, 2, true);
		run client(2, 1, false)
	};
	_nr_pr == 1 -> assert(freed == N && out == 0 && !waiting && queued == 0)
}
