import { describe, expect, it } from 'vitest';
import { explore } from './explore.ts';
import { told } from './search.ts';
import { planted, short } from './settings.ts';

describe('in every state that can be reached', () => {
  it.each(short)(
    'money is neither lost nor paid twice, and an end is in reach: $name',
    async (setting) => {
      const found = await explore(setting);
      expect(found.violation, told(setting, found)).toBeNull();
      expect(found.stuck, told(setting, found)).toBeNull();
      expect(found.complete).toBe(true);
    },
    0,
  );
});

describe('the search finds', () => {
  it.each(planted)('$name', async (setting) => {
    const found = await explore(setting);
    expect(found.violation).not.toBeNull();
  });
});
