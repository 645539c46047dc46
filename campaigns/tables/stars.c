/* The magic star of six tips by the three programs of Hiroi's paper, written again, point after point.

   stars 1: all permutations with 1 on point 0, checked when complete (stars 1 all: those with any number there).
   stars 2: each line is checked at its fourth number.
   stars 3 X Y: also no number less than that of point 0 on another tip, and that of X is less than that of Y.
   Prints the solutions, the numbers placed and the clock ticks. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { POINTS = 12, LINES = 6, SUM = 26 };

static const int line[LINES][4] = {{0, 2, 5, 7}, {0, 3, 6, 10}, {7, 8, 9, 10}, {1, 2, 3, 4}, {1, 5, 8, 11}, {4, 6, 9, 11}};
static const int is_tip[POINTS] = {0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1};
static int lines_of[POINTS][2], star[POINTS], used[POINTS + 1], filled[LINES], total[LINES];
static int less = 2, more = 3;
static long solutions, placed;

static int is_magic(void)
{
    for (int each = 0; each < LINES; each++)
        if (star[line[each][0]] + star[line[each][1]] + star[line[each][2]] + star[line[each][3]] != SUM)
            return 0;
    return 1;
}

static void generate(int point)
{
    if (point == POINTS) {
        solutions += is_magic();
        return;
    }
    for (int number = 1; number <= POINTS; number++)
        if (!used[number]) {
            used[number] = 1;
            star[point] = number;
            placed++;
            generate(point + 1);
            used[number] = 0;
        }
}

static int is_image(int point, int number)
{
    return (is_tip[point] && star[0] > number) || (point == more && star[less] > number);
}

static void search(int point, int symmetry)
{
    if (point == POINTS) {
        solutions++;
        return;
    }
    const int *mine = lines_of[point];
    for (int number = 1; number <= POINTS; number++) {
        if (used[number] || (symmetry && is_image(point, number)))
            continue;
        if ((filled[mine[0]] == 3 && total[mine[0]] + number != SUM) ||
            (filled[mine[1]] == 3 && total[mine[1]] + number != SUM))
            continue;
        for (int each = 0; each < 2; each++) {
            filled[mine[each]]++;
            total[mine[each]] += number;
        }
        used[number] = 1;
        star[point] = number;
        placed++;
        search(point + 1, symmetry);
        used[number] = 0;
        for (int each = 0; each < 2; each++) {
            filled[mine[each]]--;
            total[mine[each]] -= number;
        }
    }
}

int main(int count, char **words)
{
    int program = count > 1 ? atoi(words[1]) : 3, lines[POINTS] = {0};
    for (int each = 0; each < LINES; each++)
        for (int place = 0; place < 4; place++)
            lines_of[line[each][place]][lines[line[each][place]]++] = each;
    if (count > 3) {
        less = atoi(words[2]);
        more = atoi(words[3]);
    }
    clock_t begun = clock();
    if (program == 1 && count == 2) {
        used[1] = star[0] = 1;
        generate(1);
    } else if (program == 1)
        generate(0);
    else
        search(0, program == 3);
    printf("%ld %ld %ld\n", solutions, placed, (long)(clock() - begun));
    return 0;
}
