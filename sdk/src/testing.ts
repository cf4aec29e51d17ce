/** For the tests of an integration: signed sample events, and a service that lives in memory. */
export { createFakeServer, type FakeFault, type FakeServer } from './fake.ts';
export { makeSecret, type SignedWebhook, sampleEvent, signedWebhook } from './samples.ts';
