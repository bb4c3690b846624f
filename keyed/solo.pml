/*
 * The soloist and its guard: lanes_solo.go, with what they need of the lanes.
 *
 * Five items of two keys, pulled up to three at a time by two workers. Who pulls while
 * nothing else is under way may run what it has pulled itself, the soloist; at any time
 * the other worker may find that it stands still, and take over. It collects up to two
 * results before it spills them. Two outlets with their fences, and the reader, which
 * empties them in any order. The call of the second item
 * may never end. Checked: each item is run once and its result taken once; the calls of
 * a key, and its results as the reader takes them, come in order; no two calls of one
 * key overlap; no more calls run than there are permits; nobody waits for ever, and what
 * is not behind a call that never ends, by its key, is done all the same. What happens
 * under mu is one step. Windows and parking are not modelled, nor a stage with n = 1,
 * which has no claim and spills each result.
 *
 * Variants that must fail: -DBUG=1 the soloist does not notice that it is frozen,
 * -DBUG=2 no fences are put when it begins, -DBUG=3 who takes a lane puts none before
 * what it publishes after a soloist, -DBUG=4 the item in hand is not put into its lane,
 * -DBUG=5 the claim stays frozen, -DBUG=6 a soloist begins whatever is under way,
 * -DBUG=7 a soloist that has been replaced runs a lane without a permit, -DBUG=8 the
 * guard does not hand the pull right over, -DBUG=9 the soloist leaves no mark, -DBUG=10
 * the guard does not spill what it finds, -DBUG=11 the guard freezes one that spills,
 * -DBUG=12 the soloist says that it has spilled before it has.
 */

#ifndef BUG
#define BUG 0
#endif
#ifndef ITEMS
#define ITEMS 5
#endif
#ifndef WORKERS
#define WORKERS 2               /* or 3, with four items */
#endif
#define KEYS    2
#define GRAIN   3
#define COLLECT 2
#define PERMITS 2
#define SLOTS   14             /* of an outlet */
#define FENCE   128            /* + 32 * the outlet, + the mark */

#define key(i) ((i) % KEYS)

/* Under mu. */
byte next;                     /* the item that is pulled next */
bool pulling;
byte running;
byte solo;                     /* the soloist, from 1 */
byte soloLast, soloMark;

/* Of workers, as soloists. */
byte first[WORKERS], items[WORKERS];
byte did[WORKERS];             /* the claim: items done; the rest of it is frozen, spills */
byte spilled[WORKERS];
bool frozen[WORKERS], spills[WORKERS];
byte hand[WORKERS];            /* the lane in its hands, from 1, by the guard's doing */

/* The lane of each key. */
byte queue[KEYS * ITEMS], put[KEYS], got[KEYS], pending[KEYS];
byte last[KEYS], mark[KEYS];
byte where[KEYS];              /* the worker in whose deque it lies, from 1 */

/* Outlets. */
byte slot[WORKERS * SLOTS], tail[WORKERS], taken[WORKERS];

/* Of the claims. */
bool ran[ITEMS], came[ITEMS];
byte called[KEYS], seen[KEYS]; /* the last item and 1 */
bool busy[KEYS];
byte calls, results;
byte stuck = ITEMS;

#define calm  (next == ITEMS && !pulling && running == 0 && pending[0] == 0 && pending[1] == 0)
#define quiet (running == 0 && where[0] == 0 && where[1] == 0)

/* A call's beginning and end; both are atomic. */
inline begin(i) {
	assert(!ran[i] && !busy[key(i)] && called[key(i)] <= i);
	ran[i] = true; busy[key(i)] = true; called[key(i)] = i + 1;
	calls++;
	assert(calls <= PERMITS && calls <= running)
}

inline ends(i) {
	stuck != i;
	busy[key(i)] = false;
	calls--
}

inline write(v) {
	assert(tail[me] < SLOTS);
	slot[me * SLOTS + tail[me]] = v
}

/* fenceOff is atomic. The outlet o is from 1. */
inline fenceOff(o, m) {
	if
	:: taken[o - 1] < m -> write(FENCE + 32 * (o - 1) + m); tail[me]++
	:: else
	fi
}

/* add puts an item into its lane, and the lane into a deque; it is atomic. */
inline add(i) {
	queue[key(i) * ITEMS + put[key(i)]] = i; put[key(i)]++;
	pending[key(i)]++;
	if
	:: pending[key(i)] == 1 -> where[key(i)] = me + 1
	:: else
	fi
}

/* finish gives up lane l after one entry. */
inline finish() {
	atomic {
		last[l] = me + 1; mark[l] = tail[me];
		pending[l]--;
		if
		:: pending[l] > 0 -> where[l] = me + 1
		:: else
		fi;
		l = 0
	}
}

inline dismiss() {
	running--
}

/* spill puts the results of v's items up to n into its outlet; j is the caller's. What
 * is put in is seen at once, so it is atomic; n is looked at before. */
inline spill(v, n) {
	j = n;
	do
	:: spilled[v] < j ->
	   assert(tail[v] < SLOTS);
	   slot[v * SLOTS + tail[v]] = first[v] + spilled[v] + 1;
	   tail[v]++; spilled[v]++
	:: else -> break
	od;
	j = 0
}

/* play is the soloist's loop. */
inline play() {
	do
	:: did[me] == items[me] -> break
	:: else ->
	   atomic { i = first[me] + did[me]; begin(i) };
	   ends(i);
	   if
	   :: atomic { BUG == 1 || !frozen[me] -> did[me]++;
	         if
	         :: did[me] - spilled[me] == COLLECT || did[me] == items[me] -> spills[me] = true
	         :: else ->
	            if
	            :: spills[me] = true /* the reader waits */
	            :: skip
	            fi
	         fi
	      };
	      if
	      :: spills[me] ->
	         n = did[me]; from = spilled[me];
	         if
	         :: BUG == 12 -> spills[me] = false
	         :: else
	         fi;
	         atomic { spilled[me] = from; spill(me, n); n = 0; from = 0 };
	         spills[me] = false
	      :: else
	      fi
	   :: atomic { BUG != 1 && frozen[me] -> l = hand[me]; hand[me] = 0 } /* mu */
	      atomic {
	         if
	         :: l > 0 -> l--; got[l]++; k = 1
	         :: else
	         fi;
	         write(i + 1); tail[me]++;
	         if
	         :: BUG != 5 -> frozen[me] = false
	         :: else
	         fi
	      }
	      if
	      :: k == 1 -> k = 0; finish()
	      :: else
	      fi;
	      break
	   fi
	od;
	atomic { /* mu */
		if
		:: solo == me + 1 ->
		   solo = 0; pulling = false;
		   if
		   :: BUG != 9 -> soloLast = me + 1; soloMark = tail[me]
		   :: else
		   fi
		:: else
		fi;
		dismiss();
		i = 0; l = 0; k = 0
	}
}

/* takeOver is the guard's; it is atomic. */
inline takeOver(v) {
	if
	:: solo == v + 1 && did[v] == at && !frozen[v] && (!spills[v] || BUG == 11) && at < items[v] ->
	   frozen[v] = true; solo = 0;
	   if
	   :: BUG != 10 -> spill(v, at)
	   :: else
	   fi;
	   if
	   :: BUG != 8 -> pulling = false
	   :: else
	   fi;
	   soloLast = v + 1; soloMark = tail[v];
	   i = first[v] + at;
	   if
	   :: BUG != 4 ->
	      queue[key(i) * ITEMS + put[key(i)]] = i; put[key(i)]++;
	      pending[key(i)]++;
	      hand[v] = key(i) + 1
	   :: else
	   fi;
	   i++;
	   do
	   :: i < first[v] + items[v] -> add(i); i++
	   :: else -> break
	   od
	:: else
	fi
}

active [WORKERS] proctype worker() {
	byte me, i, j, k, l, n, at, from;
	bool alone;
	me = _pid;
again:
	do
	:: atomic { running < PERMITS && where[0] > 0 -> l = 0; where[0] = 0; running++ }; goto take
	:: atomic { running < PERMITS && where[1] > 0 -> l = 1; where[1] = 0; running++ }; goto take
	:: atomic { running < PERMITS && !pulling && next < ITEMS -> pulling = true; alone = BUG == 6 || quiet }
	   if
	   :: alone -> k = GRAIN
	   :: k = GRAIN; alone = false /* calls are not cheap */
	   fi;
	   atomic { /* the items come; mu */
	      if
	      :: next + k > ITEMS -> k = ITEMS - next
	      :: else
	      fi;
	      i = next; next = next + k;
	      if
	      :: !alone ->
	         do
	         :: k > 0 -> add(i); i++; k--
	         :: else -> break
	         od;
	         pulling = false
	      :: else ->
	         first[me] = i; items[me] = k;
	         i = 1;
	         do
	         :: i > WORKERS || BUG == 2 -> break
	         :: i <= WORKERS && BUG != 2 ->
	            if
	            :: i != me + 1 -> fenceOff(i, tail[i - 1])
	            :: else
	            fi;
	            i++
	         od;
	         did[me] = 0; spilled[me] = 0;
	         solo = me + 1; running++
	      fi;
	      i = 0; k = 0
	   }
	   if
	   :: alone -> alone = false; play();
	      if
	      :: BUG == 7 ->
	         if
	         :: atomic { where[0] == me + 1 -> l = 0; where[0] = 0 }; goto take
	         :: atomic { where[1] == me + 1 -> l = 1; where[1] = 0 }; goto take
	         :: else
	         fi
	      :: else
	      fi
	   :: else
	   fi
	:: atomic { running < PERMITS && solo > 0 && solo != me + 1 -> k = solo - 1; at = did[k] } /* the guard looks */
	   atomic { takeOver(k); i = 0; k = 0; at = 0 }
	:: calm -> break
	od;
	goto done;
take:
	atomic { /* take */
		if
		:: last[l] > 0 && last[l] != me + 1 -> fenceOff(last[l], mark[l])
		:: else
		fi;
		if
		:: BUG != 3 && soloLast > 0 && soloLast != me + 1 -> fenceOff(soloLast, soloMark)
		:: else
		fi;
		i = queue[l * ITEMS + got[l]];
		begin(i)
	}
	atomic { ends(i); got[l]++; write(i + 1); tail[me]++ }
	finish();
	atomic { dismiss(); i = 0 } /* mu, or it keeps it for its next lane */
	goto again;
done:
	skip
}

/* look takes what is next in the outlet o, unless a fence is closed. */
inline look(o) {
	atomic {
		taken[o] < tail[o] && (slot[o * SLOTS + taken[o]] < FENCE ||
			taken[(slot[o * SLOTS + taken[o]] >> 5) & 3] >= (slot[o * SLOTS + taken[o]] & 31)) ->
		v = slot[o * SLOTS + taken[o]];
		slot[o * SLOTS + taken[o]] = 0;
		taken[o]++;
		if
		:: v < FENCE ->
		   v--;
		   assert(ran[v] && !came[v] && seen[key(v)] <= v);
		   came[v] = true; seen[key(v)] = v + 1;
		   results++
		:: else
		fi;
		v = 0
	}
}

active proctype reader() {
	byte v;
	do
	:: look(0)
	:: look(1)
#if WORKERS > 2
	:: look(2)
#endif
	:: results == ITEMS -> break
	od
}

/* When nothing moves any more, all is done but what is behind the call that is stuck. */
active proctype watch() {
	byte i;
	if
	:: skip
	:: stuck = 1
	fi;
	timeout;
	atomic {
		do
		:: i < ITEMS ->
		   assert(came[i] || (stuck < ITEMS && i >= stuck && key(i) == key(stuck)));
		   i++
		:: else -> break
		od;
		stuck = ITEMS
	}
}
