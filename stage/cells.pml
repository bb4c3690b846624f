/*
 * The hand-over of a cell, in order: cells.go, cells_run.go, cells_take.go.
 *
 * One cell of three items, the worker that owns it, two workers that may help with one
 * item each, and the consumer, which takes what is done, may look at parts of
 * the cell, and parks. Checked: each item is run once; what the consumer takes has been
 * run; the cell is given back only when no worker has a store to it left; nobody sleeps
 * for ever, and what is done is taken also while a call before or behind it never ends. The word of the cell is the variables cursor, base,
 * shared and wait, each group of steps on it being one atomic operation of the code.
 *
 * Variants that must fail: -DBUG=1 the consumer does not look again after it has set
 * wait, -DBUG=2 the owner does not mind wait, -DBUG=3 who completes the cell does not
 * mind it, -DBUG=4 the first helper freezes a base one too high, -DBUG=5 the first
 * helper does not say that it is there, -DBUG=6 a helper does not mind wait.
 */

#ifndef BUG
#define BUG 0
#endif
#define ITEMS 3
#define ALL   7             /* a bit for each item */

byte cursor = 1;            /* the word: the owner has claimed the first item */
byte base;
bool shared;
bool wait;
byte bits;                  /* items done, from base on, once shared */
bool whole;
bool back;                  /* the consumer has given the cell back */
byte stuck = ITEMS;         /* the item whose call never ends: the second, or none */

byte ran[ITEMS];            /* calls that have begun */
bool done[ITEMS];           /* and ended */

bool armed;                 /* the consumer's waiter */
bool token;

#define low(k) ((1 << (k)) - 1)

inline wake() {
	atomic { if :: armed -> armed = false; token = true :: else fi }
}

/* awake: whoever takes wait off the word wakes the consumer. */
inline awake() {
	atomic { was = wait; wait = false }
	if :: was -> wake() :: else fi;
	was = false
}

inline call(k) {
	atomic { ran[k]++; assert(ran[k] == 1 && !back) }
	stuck != k;
	done[k] = true
}

/* share marks item k done, and sets last if it was the last one. */
inline share(k) {
	rest = ALL & ~low(base);
	atomic {
		assert(!back);
		bits = bits | (1 << k);
		last = (bits & rest) == rest;
		rest = 0
	}
	if
	:: BUG != 6 && wait -> awake()
	:: else
	fi
}

inline complete() {
	assert(!back);
	whole = true;
	if
	:: BUG != 3 && wait -> awake()
	:: else
	fi
}

active proctype owner() {
	byte k, j, rest;
	bool last, was, wasShared, wasWait, finished;
	do
	:: call(k);
	   atomic { assert(!back); j = cursor; wasShared = shared; wasWait = wait; cursor++ }
	   if
	   :: wasShared -> share(k); finished = last
	   :: else ->
	      if
	      :: BUG != 2 && wasWait -> awake()
	      :: else
	      fi
	   fi;
	   if
	   :: j >= ITEMS -> finished = finished || !wasShared; break
	   :: else -> k = j
	   fi
	od;
	if
	:: finished -> complete()
	:: else
	fi
}

active [2] proctype helper() {
	byte k, rest;
	bool last, was, mine;
	if
	:: skip                     /* it may never come */
	:: atomic {
	      mine = cursor < ITEMS && !back;
	      if
	      :: mine ->
	         k = cursor;
	         if
	         :: !shared && BUG == 4 -> shared = true; base = k
	         :: !shared && BUG != 4 && BUG != 5 -> shared = true; base = k - 1
	         :: else
	         fi;
	         cursor++
	      :: else
	      fi
	   }
	   if
	   :: mine ->
	      call(k);
	      share(k);
	      if
	      :: last -> complete()
	      :: else
	      fi
	   :: else
	   fi
	fi
}

byte taken;

/* look takes the items that are done, one after the other. */
inline look() {
	if
	:: whole -> there = ITEMS
	:: else ->
	   atomic { isShared = shared; mask = (shared -> low(base) : low(cursor - 1)) }
	   atomic {
	      if
	      :: isShared -> mask = mask | bits
	      :: else
	      fi;
	      there = 0;
	      do
	      :: there < ITEMS && (mask & (1 << there)) -> there++
	      :: else -> break
	      od;
	      mask = 0; isShared = false
	   }
	fi
}

active proctype consumer() {
	byte there, mask;
	bool isShared, isWhole;
	do
	:: look();
	   atomic {
	      do
	      :: taken < there -> assert(done[taken]); taken++
	      :: else -> break
	      od
	   }
	   if
	   :: taken == ITEMS && whole -> break
	   :: else
	   fi;
	   armed = true;
	   wait = true;
	   if
	   :: BUG == 1 -> there = taken; isWhole = false
	   :: else -> look(); isWhole = whole
	   fi;
	   if
	   :: isWhole || there > taken ->
	      /* disarm: a wake-up that is on its way is taken */
	      if
	      :: token -> token = false
	      :: !token -> armed = false; token = false
	      fi
	   :: !isWhole && there <= taken -> token; token = false
	   fi
	od;
	back = true;
	assert(cursor >= ITEMS)
}

/* When nothing moves any more, the consumer has come to the end, or has taken all
   that is done before the item that is stuck. */
active proctype watch() {
	if
	:: skip
	:: stuck = 1
	fi;
	timeout;
	assert(back || (stuck < ITEMS && !done[taken]));
	stuck = ITEMS
}
