/*
 * The permission that runs from item to item: permission.go, under line.go.
 *
 * Four items are passed on, two at a time; a permission is used again by a later item,
 * while the worker that gave it before may not have come to its Wake yet. The second item
 * is put in two parts, as a stream is. The reader closes the stage at the end, or at any
 * time, and a call may panic, which ends the run. Checked: items are put one at a time
 * and in order; no more permissions are made than the window needs; nobody sleeps for
 * ever, closed or not, and when all have ended no wake-up is on its way to a permission.
 * What happens under the lock of the line is one step.
 *
 * Variants that must fail: -DBUG=1 who waits does not look again after it has armed,
 * -DBUG=2 the wake-up comes before the permission is there, -DBUG=3 whoever is woken takes
 * it for the permission, -DBUG=4 a permission from the pool is still given, -DBUG=5 it
 * goes back to the pool after the first part of a stream, -DBUG=6 it is given before the
 * item is put, -DBUG=7 an item enters when the right to pull is free again, -DBUG=8 who
 * waits does not mind that the stage is closed, -DBUG=9 permissions never go back.
 */

#ifndef BUG
#define BUG 0
#endif
#define ITEMS   4
#define WINDOW  2
#define STREAM  1              /* this item */
#define MADE    (WINDOW + 1)   /* permissions: one of each item held, and the next one's */

#define IDLE   0               /* the states of a Waiter */
#define ARMED  1
#define PARKED 2
#define WOKEN  3

byte state[MADE];              /* a permission is its number */
byte token[MADE];              /* the channel of its Waiter, which has room for one */
bool given[MADE];
byte pool[MADE], pooled;       /* a stack */
byte made = 1;
byte last;                     /* the permission of the item that comes next */

byte next = ITEMS;             /* item that is pulled next; none before the first Next */
byte held;
byte put;                      /* items that have been put whole */
bool part;                     /* the item at the head has been put in part */
bool stopped;
bool calm;                     /* nothing stops it before the end */
byte alive = ITEMS;

/* get is atomic. */
inline get(p) {
	if
	:: pooled > 0 -> pooled--; p = pool[pooled];
	   if
	   :: BUG != 4 -> given[p] = false
	   :: else
	   fi
	:: else ->
	   assert(made < MADE);
	   p = made; made++
	fi
}

inline back(p) {
	pool[pooled] = p; pooled++
}

inline enter() {
	mine = last;
	get(succ);
	last = succ
}

inline wake(p) {
	atomic {
		if
		:: state[p] == ARMED || state[p] == PARKED ->
		   state[p] = WOKEN;
		   assert(token[p] == 0);
		   token[p] = 1
		:: else
		fi
	}
}

inline give(p) {
	if
	:: BUG == 2 -> wake(p); given[p] = true
	:: else -> given[p] = true; wake(p)
	fi
}

inline disarm(p) {
	atomic {
		if
		:: state[p] == ARMED -> state[p] = IDLE
		:: else -> token[p] > 0; token[p] = 0; state[p] = IDLE
		fi
	}
}

/* await waits for the permission p, and goes to end if it will not come. */
inline await(p) {
	do
	:: given[p] -> break
	:: else ->
	   state[p] = ARMED;
	   if
	   :: BUG != 1 && given[p] -> disarm(p); break
	   :: else ->
	      atomic {
	         if
	         :: state[p] == ARMED -> state[p] = PARKED
	         :: else
	         fi
	      }
	      if
	      :: atomic { token[p] > 0 -> token[p] = 0; state[p] = IDLE }
	         if
	         :: BUG == 3 -> break
	         :: else
	         fi
	      :: BUG != 8 && stopped ->
	         if
	         :: atomic { state[p] == PARKED -> state[p] = IDLE }
	            if
	            :: given[p] -> break
	            :: else -> goto end
	            fi
	         :: atomic { state[p] != PARKED && token[p] > 0 -> token[p] = 0; state[p] = IDLE }
	         fi
	      fi
	   fi
	od
}

/* An item is a process of its own: the worker that has pulled it. */
active [ITEMS] proctype item() {
	byte mine, succ;
	atomic { /* pull: mu is held, or the right to pull */
		stopped || (next == _pid && held < WINDOW);
		if
		:: stopped -> goto end
		:: else
		fi;
		next++; held++;
		if
		:: BUG != 7 -> enter()
		:: else
		fi
	}
	if
	:: BUG == 7 -> atomic { enter() }
	:: else
	fi;
	if
	:: skip
	:: !calm -> stopped = true; goto end /* f panics: its permission stays with it */
	fi;
	await(mine);
	if
	:: _pid == STREAM ->
	   atomic { /* its first part, under mu */
	      assert(put == _pid && !part);
	      part = true;
	      if
	      :: BUG == 5 -> back(mine)
	      :: else
	      fi
	   }
	   await(mine)
	:: else
	fi;
	if
	:: BUG == 6 -> give(succ)
	:: else
	fi;
	atomic { /* the rest, under mu */
		assert(put == _pid && part == (_pid == STREAM));
		part = false; put++;
		if
		:: BUG != 9 && !(BUG == 5 && _pid == STREAM) -> back(mine)
		:: else
		fi;
		mine = 0
	}
	if
	:: BUG != 6 -> give(succ)
	:: else
	fi;
end:
	atomic { mine = 0; succ = 0; alive-- }
}

init { /* the reader */
	byte taken;
	if
	:: calm = true
	:: skip
	fi;
	atomic { given[0] = true; next = 0 }
	do
	:: taken < put -> atomic { taken++; held-- }
	:: taken == ITEMS -> break
	:: !calm && taken < ITEMS -> break /* it has had enough, or the run has ended */
	od;
	stopped = true;
	alive == 0;
	atomic { /* nobody is left who could touch what is freed now */
		taken = 0;
		do
		:: taken < made -> assert(state[taken] == IDLE && token[taken] == 0); taken++
		:: else -> break
		od
	}
}
