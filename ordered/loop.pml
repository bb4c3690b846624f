/*
 * The permission chain of Loop: loop.go, loop_watch.go.
 *
 * Two workers make three calls, with three permits that are used again and again. Each
 * call does as it should, or forgets to receive, or receives twice or three times, or
 * ends its goroutine before or after it has received. Checked: calls go on one at a time
 * and in order; the pool is never empty when a permit is needed; a call that breaks the
 * contract ends the program, with the text that is true, and no other one does; done is
 * closed after the last call, and nobody sleeps for ever. What happens under the lock of a
 * permit is one step.
 *
 * Variants that must fail: -DBUG=1 a permit is given without its lock, -DBUG=2 it is taken
 * back without its lock, -DBUG=3 the next one is given before this one is taken back, -DBUG=4
 * nobody receives for a call that ended itself, -DBUG=5 who sees the end keeps it for
 * itself, -DBUG=6 a permit has one token, -DBUG=7 the next call may go on before this one
 * has returned, -DBUG=8 nobody looks for a call that hangs.
 */

#ifndef BUG
#define BUG 0
#endif
#define VALUES  3
#define WORKERS 2
#define PERMITS (WORKERS + 1)
#define TOKENS  (BUG == 6 -> 1 : 2)

#define GOOD    0              /* what a call does */
#define FORGETS 1
#define TWICE   2
#define THRICE  3              /* hangs */
#define EXITS   4              /* before it receives */
#define LEAVES  5              /* after that */

bool given[PERMITS];
byte tokens[PERMITS];
byte does[PERMITS];            /* the call that it belongs to */
chan chain = [1] of { byte };
chan pool = [WORKERS] of { byte };

byte pulled;                   /* values received from in, which is closed after the last */
byte turn;                     /* of the value whose call may go on */
bool writer;                   /* that call goes on */
byte alive = WORKERS;
bool closed;
bool ended;                    /* the program, by a panic: what comes then does not count */

byte holder;                   /* the watch's */

inline receive(p) {
	atomic {
		tokens[p] > 0 || ended;
		if
		:: tokens[p] > 0 -> tokens[p]--
		:: else
		fi
	}
}

/* goOn is what a call does with the permission. */
inline goOn() {
	atomic { assert(ended || (!writer && turn == value)); writer = true }
	writer = false
}

inline pass(p) {
	atomic { turn++; holder = p }
	if
	:: BUG != 1 -> atomic { given[p] = true; tokens[p] = TOKENS }
	:: else -> given[p] = true; tokens[p]++; tokens[p]++
	fi
}

/* take takes the permit back from a call that has returned. */
inline take(p) {
	atomic {
		if
		:: !given[p] || tokens[p] == TOKENS -> assert(ended || does[p] == FORGETS); ended = true
		:: given[p] && tokens[p] + 1 < TOKENS -> assert(ended || does[p] == TWICE); ended = true
		:: else -> assert(ended || (does[p] != FORGETS && does[p] != TWICE))
		fi;
		tokens[p] = 0;
		if
		:: BUG != 2 -> given[p] = false
		:: else
		fi;
		does[p] = 0
	}
	if
	:: BUG == 2 -> given[p] = false
	:: else
	fi
}

inline settle(p) {
	if
	:: atomic { given[p] && tokens[p] == TOKENS -> tokens[p]-- }
	:: atomic { given[p] && tokens[p] < TOKENS }
	:: atomic { !given[p] -> skip } receive(p)
	fi
}

active [WORKERS] proctype worker() {
	byte mine, succ, value;
	do
	:: ended -> break
	:: chain ? mine ->
	   if
	   :: pulled == VALUES ->
	      if
	      :: BUG != 5 -> chain ! mine
	      :: else
	      fi;
	      break
	   :: else
	   fi;
	   atomic {
	      value = pulled; pulled++;
	      assert(ended || nempty(pool));
	      pool ? succ;
	      if
	      :: does[mine] = GOOD
	      :: does[mine] = FORGETS
	      :: does[mine] = TWICE
	      :: does[mine] = THRICE
	      :: does[mine] = EXITS
	      :: does[mine] = LEAVES
	      fi
	   }
	   chain ! succ;
	   if
	   :: does[mine] == GOOD || does[mine] == LEAVES ->
	      receive(mine);
	      if
	      :: BUG == 7 -> pass(succ)
	      :: else
	      fi;
	      goOn()
	   :: does[mine] == TWICE -> receive(mine); receive(mine)
	   :: does[mine] == THRICE -> receive(mine); receive(mine); receive(mine)
	   :: else
	   fi;
	   if
	   :: BUG != 4 && does[mine] >= EXITS -> settle(mine)
	   :: else
	   fi;
	   if
	   :: BUG == 3 -> pass(succ); take(mine); pool ! mine
	   :: BUG == 7 -> take(mine); pool ! mine
	   :: else -> take(mine); pass(succ); pool ! mine
	   fi;
	   mine = 0; succ = 0; value = 0
	od;
	atomic {
		alive--;
		if
		:: alive == 0 ->
		   assert(ended || (turn == VALUES && len(pool) == WORKERS));
		   closed = true
		:: else
		fi
	}
}

init {
	atomic {
		pool ! 1; pool ! 2;
		given[0] = true; tokens[0] = TOKENS;
		chain ! 0
	}
	do /* the watch: a look that finds nothing changes nothing */
	:: closed || ended -> break
	:: atomic {
	      BUG != 8 && given[holder] && tokens[holder] == 0 ->
	      assert(does[holder] == TWICE || does[holder] == THRICE);
	      ended = true
	   }
	od
}
