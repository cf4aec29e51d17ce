/** For the tests of an integration: signed sample events. */
export { makeSecret, type SignedWebhook, sampleEvent, signedWebhook } from './samples.ts';
