// Imported before the program: its wall clock is as far off as the file says, from one moment to the next. Monotonic time stays true.
import { readFileSync } from 'node:fs';

const file = process.env.WRONG_CLOCK_FILE;
const now = Date.now;
let shiftMs = 0;
let readAt = 0;
Date.now = () => {
  const at = performance.now();
  if (at - readAt > 100 || readAt === 0) {
    readAt = at;
    shiftMs = Number(readFileSync(file, 'utf8')) || 0;
  }
  return now() + shiftMs;
};
