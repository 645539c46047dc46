/* Gap by the two programs of Ishihata's paper, written again: a state is 32 cells in a table of chains.

   Reads deals from standard input, 32 numbers each, 0 for a gap, and prints for each the positions in the table and the
   moves by the program that was asked for, bfs or dfs; at the end the clock ticks of all searches. Compiled with
   -DBESIDE, a state has the places of its gaps, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS = 7, COLUMNS = 8, CELLS = 32, SIZE = 293129, NEVER = 100000 };

typedef struct state {
    char cells[CELLS];
#ifdef BESIDE
    char gaps[4];
#endif
    struct state *chain, *next;
    int to_goal;
} State;

static State *table[SIZE], *layer, *goal;
static int positions, met;

static State *find(const State *state, int *is_new)
{
    unsigned hash = 0, factor = 1;
    for (int cell = 0; cell < CELLS; cell++, factor += cell)
        hash += factor * state->cells[cell];
    for (State *each = table[hash % SIZE]; each; each = each->chain)
        if (!memcmp(each->cells, state->cells, CELLS)) {
            *is_new = 0;
            return each;
        }
    State *added = malloc(sizeof *added);
    *added = *state;
    added->chain = table[hash % SIZE];
    table[hash % SIZE] = added;
    positions++;
    *is_new = 1;
    return added;
}

/* Write the state after move `number`, if there is one, and return whether there is. */
static int moved(const State *state, int number, State *after)
{
#ifdef BESIDE
    int cell = state->gaps[number];
#else
    int cell = number;
    if (state->cells[cell])
        return 0;
#endif
    int left = state->cells[cell - 1], from = 0;
    if (!left || left % 10 == RANKS)
        return 0;
    while (state->cells[from] != left + 1)
        from++;
    *after = *state;
    after->cells[cell] = left + 1;
    after->cells[from] = 0;
#ifdef BESIDE
    after->gaps[number] = from;
#endif
    return 1;
}

#ifdef BESIDE
enum { MOVES = 4 };
#else
enum { MOVES = CELLS };
#endif

/* breadth first */
static void meet(const State *state)
{
    int is_new;
    State *found = find(state, &is_new);
    if (is_new) {
        found->next = layer;
        layer = found;
    } else if (found == goal)
        met++;
}

static void generate(const State *state)
{
    State after;
    for (int number = 0; number < MOVES; number++)
        if (moved(state, number, &after))
            meet(&after);
}

static int breadth_first(const State *start, const State *last)
{
    met = 0;
    goal = layer = NULL;
    meet(last);
    goal = layer;
    layer = NULL;
    meet(start);
    for (int moves = 0;; moves++) {
        if (met)
            return moves;
        if (!layer)
            return -1;
        State *each = layer;
        for (layer = NULL; each; each = each->next)
            generate(each);
    }
}

/* depth first */
static int follow(const State *state)
{
    State after;
    int is_new, least = NEVER;
    State *found = find(state, &is_new);
    if (!is_new)
        return found->to_goal;
    found->to_goal = NEVER;
    for (int number = 0; number < MOVES; number++)
        if (moved(state, number, &after)) {
            int moves = follow(&after);
            if (moves < least)
                least = moves;
        }
    return found->to_goal = least + 1;
}

static int depth_first(const State *start, const State *last)
{
    int is_new;
    find(last, &is_new)->to_goal = 0;
    int moves = follow(start);
    return moves >= NEVER ? -1 : moves;
}
/* end */

static void clear(void)
{
    for (int place = 0; place < SIZE; place++)
        while (table[place]) {
            State *each = table[place];
            table[place] = each->chain;
            free(each);
        }
    positions = 0;
}

int main(int count, char **words)
{
    State start = {0}, last = {0};
    clock_t ticks = 0;
    int card, cell = 0;
    for (int place = 0; place < 4 * RANKS; place++)
        last.cells[place / RANKS * COLUMNS + place % RANKS] = place / RANKS * 10 + place % RANKS + 11;
#ifdef BESIDE
    int gap = 0;
#endif
    while (scanf("%d", &card) == 1) {
        start.cells[cell++] = card;
#ifdef BESIDE
        if (!card)
            start.gaps[gap++ % 4] = cell - 1;
#endif
        if (cell == CELLS) {
            clock_t begun = clock();
            int moves = (count > 1 && words[1][0] == 'd' ? depth_first : breadth_first)(&start, &last);
            ticks += clock() - begun;
            printf("%d %d\n", positions, moves);
            clear();
            cell = 0;
        }
    }
    printf("%ld\n", (long)ticks);
}
