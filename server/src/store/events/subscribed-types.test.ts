import { expect, test } from 'vitest';
import { ConnectionLost } from '../../ports/sql.ts';
import { always, subscribedBy } from './subscribed-types.ts';

test('when the subscriptions cannot be read, every type is written: no subscribed event is lost', async () => {
  const unreadable = {
    get: () => Promise.reject(new ConnectionLost('no connection to PostgreSQL')),
    forget: () => {},
  };
  const types = await subscribedBy({ subscribed: unreadable }, 'account');
  expect([...types]).toEqual(expect.arrayContaining([...always, 'charge.created', 'transfer.created']));
});
