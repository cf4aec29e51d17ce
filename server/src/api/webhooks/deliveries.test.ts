import { expect, test } from 'vitest';
import { systemClock } from '../../ports/clock.ts';
import { systemIds } from '../../ports/ids.ts';
import { deliveryIdOf, eventIdOf } from './deliveries.ts';

const ids = systemIds(systemClock);
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('a delivery id leads back to its event, and differs for every endpoint', () => {
  const endpoints = Array.from({ length: 10 }, () => ids.uuid());
  const events = Array.from({ length: 100 }, () => ids.uuid());
  const seen = new Set<string>();
  for (const endpointId of endpoints) {
    for (const eventId of events) {
      const id = deliveryIdOf(endpointId, eventId);
      expect(id).toMatch(uuid);
      expect(eventIdOf(endpointId, id)).toBe(eventId);
      seen.add(id);
    }
  }
  expect(seen.size).toBe(1_000);
});
