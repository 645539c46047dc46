// The puzzles whose boards the editor takes and a PDF shows, and their goals unless an option is the goal.

export const GOALS = {sliding: "", klotski: "****/****/****/*AA*/*AA*"};
