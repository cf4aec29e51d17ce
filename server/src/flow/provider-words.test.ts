import { expect, test } from 'vitest';
import type { Log } from '../ground/log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Queries } from '../ports/sql.ts';
import type { SendOutcome } from '../provider/provider.ts';
import { keepWords } from './provider-words.sql.ts';

const words = { name: '400 valor_fora_do_limite', message: 'O valor de Fulano excede o limite' };
const attempt = { accountId: 'a', paymentId: 'p', connection: 'loja', fence: 'f' };
const clock = { now: () => 0 } as Clock;
const sql = { run: async () => [] } as unknown as Queries;

test.each<[string, SendOutcome<unknown>, string]>([
  [
    'in no table',
    { outcome: 'unclear', cause: 'unknownRefusal', detail: '', retryAfterMs: null, words },
    'warn',
  ],
  ['documented', { outcome: 'refused', reason: 'provider_refused', detail: '', words }, 'info'],
])(
  'A refusal that is %s is one line of the log, by its name and without its text',
  async (_, outcome, level) => {
    const lines: unknown[] = [];
    const note = (as: string) => (data: object) => void lines.push([as, data]);
    const log = { info: note('info'), warn: note('warn') } as unknown as Log;
    await keepWords({ sql, clock, log }, attempt, outcome);
    expect(lines).toEqual([[level, { connection: 'loja', paymentId: 'p', error: words.name }]]);
  },
);
