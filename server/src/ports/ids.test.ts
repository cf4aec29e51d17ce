import { describe, expect, it } from 'vitest';
import type { Clock } from './clock.ts';
import { idsOf, systemIds } from './ids.ts';

/** A clock that the test sets. */
function clockAt(ms: number): Clock & { set(ms: number): void } {
  let now = ms;
  return {
    now: () => now,
    machineMs: () => now,
    monotonicMs: () => now,
    sleep: async () => {},
    set: (to) => {
      now = to;
    },
  };
}

const start = Date.UTC(2026, 10, 20);
const timeOf = (uuid: string): number => Number.parseInt(uuid.replace('-', '').slice(0, 12), 16);

describe('an id', () => {
  it('is a UUIDv7 of the time that the clock shows', () => {
    const uuid = systemIds(clockAt(start)).uuid();
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(timeOf(uuid)).toBe(start);
  });

  it('comes after every id before it, in one millisecond as well', () => {
    const ids = systemIds(clockAt(start));
    const made = Array.from({ length: 20_000 }, () => ids.uuid());
    expect(made).toEqual([...made].sort());
    expect(new Set(made).size).toBe(made.length);
    // Of one millisecond there are 4,096: the clock is ahead of itself by no more than it has to be.
    expect(timeOf(made.at(-1) as string)).toBeLessThanOrEqual(start + 10);
  });

  it('comes after every id before it when the clock goes back', () => {
    const clock = clockAt(start);
    const ids = systemIds(clock);
    const made = [0, 5, -60_000, -1, 0, 6].flatMap((offset) => {
      clock.set(start + offset);
      return [ids.uuid(), ids.uuid()];
    });
    expect(made).toEqual([...made].sort());
    expect(timeOf(made.at(-1) as string)).toBe(start + 6);
  });

  it('is another one in another process at the same time', () => {
    const made = Array.from({ length: 1000 }, () => systemIds(clockAt(start)).uuid());
    expect(new Set(made).size).toBe(made.length);
  });

  it('has as many random bytes as were asked for', () => {
    const ids = systemIds(clockAt(start));
    expect(ids.bytes(32)).toHaveLength(32);
    expect(ids.bytes(32)).not.toEqual(ids.bytes(32));
  });
});

describe('the ids of a command', () => {
  const token = systemIds(clockAt(start)).uuid();
  const take = (count: number): string[] => {
    const ids = idsOf(token);
    return Array.from({ length: count }, () => ids.uuid());
  };

  it('are the same in every run, so that a decision that runs again writes the same rows', () => {
    expect(take(20)).toEqual(take(20));
  });

  it('are UUIDv7 in the order of their use, each another one', () => {
    const made = take(255);
    expect(made).toEqual([...made].sort());
    expect(new Set(made).size).toBe(255);
    for (const id of made)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('are at most 255', () => {
    expect(() => take(256)).toThrow('at most 255');
  });
});
