import { readFileSync } from 'node:fs';

/** How many files and connections this process may have open at once; null: the system does not say it. Node asks for all that it may have. */
export function openFilesMost(
  read: (path: string) => string = (path) => readFileSync(path, 'utf8'),
): number | null {
  try {
    const [, most] = /^Max open files +(\d+|unlimited)/m.exec(read('/proc/self/limits')) ?? [];
    if (most === undefined) return null;
    return most === 'unlimited' ? Number.POSITIVE_INFINITY : Number(most);
  } catch {
    return null;
  }
}
