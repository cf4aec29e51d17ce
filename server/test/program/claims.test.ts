import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const src = fileURLToPath(new URL('../../src/', import.meta.url));

/** From `UPDATE` or `DELETE` to a bracket after FROM, USING or IN that locks what it chooses. */
const chosenInFrom = /(?:UPDATE|DELETE FROM)\s[^`;]*?(?:FROM|USING|IN)\s*\(\s*SELECT[^`]*?SKIP LOCKED\)/;
/** Of one row by its key: there is no other one to choose. */
const byKey = new Set(['intent_claim_one', 'intent_give_back', 'intent_renew_claim']);

test('what is claimed up to a limit is chosen once, in a WITH, and not again for each row that it is joined to', () => {
  const found: string[] = [];
  let claims = 0;
  for (const file of readdirSync(src, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue;
    const text = readFileSync(join(src, file), 'utf8');
    for (const [, name, sql] of text.matchAll(/name: ['`]([^'`]+)['`],\s*text: `([^`]*)`/g)) {
      if (!sql?.includes('SKIP LOCKED')) continue;
      claims++;
      if (!byKey.has(name as string) && chosenInFrom.test(sql)) found.push(`${file}: ${name}`);
    }
  }
  expect(found).toEqual([]);
  expect(claims).toBeGreaterThan(15);
});
