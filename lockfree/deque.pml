/*
 * The deque with growth: deque.go.
 *
 * An owner that pushes and pops in any order, and two thieves. Each atomic access is a
 * step of its own, in program order, as Go's atomics have it. Checked: no item is taken
 * twice, none is torn from a slot that holds another one, none is lost at the end, and
 * a slot is written only when its last reader is done.
 *
 * Variants that must fail: -DBUG=1 the last item is popped without the compare-and-swap,
 * -DBUG=2 the owner reads top before it stores bottom, -DBUG=3 a slot is used again
 * before the thief has read it, -DBUG=4 the items move while thieves go on, -DBUG=5 the
 * thief's ring is not in the word it swaps.
 */

#ifndef BUG
#define BUG 0
#endif
#ifndef ITEMS
#define ITEMS 3
#endif
#define STEPS 5             /* of the owner */
#define SMALL 1             /* slots of ring 0; ring k has SMALL << k */
#define RINGS 3

byte value[12];             /* ring k begins at 4 * k */
bool used[12];              /* the owner's note */
bool back[12];              /* the thief's note */
byte reading[12];           /* ghost: thieves that have won the slot and not read it */

byte top, topring;          /* one word: changed together, in one step */
bool moving;                /* a part of that word, too */
byte bottom, ring;          /* ring is what thieves load */
byte taken[ITEMS + 1];

#define at(k, i) (4 * (k) + ((i) % (SMALL << (k))))

inline take(v) {
	assert(v > 0);
	taken[v]++;
	assert(taken[v] == 1)
}

proctype owner() {
	byte own, b, t, k, i, v, next, steps;
	next = 1;
	do
	:: steps == STEPS -> break
	:: steps < STEPS && next <= ITEMS -> /* Push */
		steps++;
		b = bottom;
		if
		:: !used[at(own, b)]
#if BUG == 3
		:: used[at(own, b)] && top + (SMALL << own) <= b -> back[at(own, b)] = false
		:: used[at(own, b)] && top + (SMALL << own) > b ->
#else
		:: used[at(own, b)] && back[at(own, b)] -> back[at(own, b)] = false
		:: used[at(own, b)] && !back[at(own, b)] ->
#endif
			assert(own + 1 < RINGS);
#if BUG == 4
			t = top;
#else
			atomic { t = top; moving = true };
#endif
			for (i : t .. b) {
				if
				:: i < b ->
					value[at(own + 1, i)] = value[at(own, i)];
					used[at(own + 1, i)] = true
				:: else
				fi
			}
			own++;
			ring = own;
			atomic { top = t; topring = own; moving = false }
		fi;
		assert(reading[at(own, b)] == 0);
		value[at(own, b)] = next;
		used[at(own, b)] = true;
		next++;
		bottom = b + 1
	:: steps < STEPS -> /* Pop */
		steps++;
		b = bottom;
		if
		:: top >= b
		:: else ->
			b--;
#if BUG == 2
			t = top;
			bottom = b;
#else
			bottom = b;
			t = top;
#endif
			v = 0;
			if
			:: t < b -> v = 1
#if BUG == 1
			:: t == b -> v = 1; bottom = b + 1; top = b + 1
#else
			:: t == b ->
				atomic {
					if
					:: top == t -> top = t + 1; v = 1
					:: else
					fi
				};
				bottom = b + 1
#endif
			:: t > b -> bottom = b + 1
			fi;
			if
			:: v == 1 ->
				v = value[at(own, b)];
				value[at(own, b)] = 0;
				used[at(own, b)] = false;
				take(v)
			:: else
			fi
		fi
	od
}

proctype thief(byte most) {
	byte t, tr, r, v, tries;
	bool m, won;
	do
	:: tries == most -> break
	:: else ->
		tries++;
		atomic { t = top; tr = topring; m = moving };
		r = ring;
		if
		:: t >= bottom || m
		:: else ->
			atomic {
				won = false;
				if
#if BUG == 5 || BUG == 4
				:: top == t && !moving -> top = t + 1; won = true
#else
				:: top == t && topring == tr && !moving -> top = t + 1; won = true
#endif
				:: else
				fi;
				if
				:: won -> reading[at(r, t)]++
				:: else
				fi
			};
			if
			:: won ->
				assert(r == tr || BUG);
				v = value[at(r, t)];
				value[at(r, t)] = 0;
				atomic { reading[at(r, t)]--; back[at(r, t)] = true };
				take(v)
			:: else
			fi
		fi
	od
}

init {
	byte i, k, left, out;
	atomic { run owner(); run thief(2); run thief(1) };
	_nr_pr == 1 ->
	/* What is left is what has been pushed and not taken, and every other slot is clear
	   and can be used again. */
	for (i : 0 .. 3) {
		if
		:: i < (SMALL << ring) ->
			assert(value[4 * ring + i] == 0 || taken[value[4 * ring + i]] == 0);
			if
			:: value[4 * ring + i] != 0 -> left++
			:: else -> assert(!used[4 * ring + i] || back[4 * ring + i])
			fi
		:: else
		fi
	}
	assert(left == bottom - top)
}
