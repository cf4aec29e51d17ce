import { describe, expect, it } from 'vitest';
import { queryAnyCharge } from './due-charges.ts';
import type { Provider, QueryOutcome } from './provider.ts';

describe('A charge of which it is not known whether it has a due date', () => {
  const notThere = async (): Promise<QueryOutcome<never>> => ({ outcome: 'notFound' });
  const refused = async (): Promise<QueryOutcome<never>> => ({
    ...{ outcome: 'unclear', cause: 'unknownRefusal', detail: '403', retryAfterMs: null },
  });
  const providerThat = (dueCharges: boolean) =>
    ({
      capabilities: { dueCharges },
      queryCharge: notThere,
      dueCharges: { query: refused },
    }) as unknown as Provider;

  it('is asked for among those with one only over a connection that has them', async () => {
    expect(await queryAnyCharge(providerThat(false), 'a')).toEqual({ outcome: 'notFound' });
    expect(await queryAnyCharge(providerThat(true), 'a')).toMatchObject({ outcome: 'unclear' });
  });
});
