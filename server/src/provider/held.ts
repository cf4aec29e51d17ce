import { withCalls } from './calls.ts';
import type { Provider, Unclear, WebhookNews } from './provider.ts';

const detail = 'the connection is held: another account stands behind it than before';
const unclear: Unclear = { outcome: 'unclear', cause: 'unknownRefusal', detail, retryAfterMs: null };
const notSent = { outcome: 'notSent', detail } as const;
const asksNothing = async (): Promise<Unclear> => unclear;
const sendsNothing = async (): Promise<typeof notSent> => notSent;
const refuses = async (): Promise<never> => {
  throw new Error(detail);
};
const unaddressed = (news: WebhookNews): WebhookNews => ({ ...news, addressed: false });

/**
 * A provider behind which another account stands than before: no caller can send or ask anything over it, since an answer of that account, read as one of
 * the account before, is news of money that never moved. What is delivered is kept and not believed.
 */
export const heldProvider = (provider: Provider): Provider => ({
  ...withCalls(provider, ({ does, throws }) =>
    throws ? refuses : does === 'send' ? sendsNothing : asksNothing,
  ),
  identity: null,
  async parseWebhook(delivery) {
    const content = await provider.parseWebhook(delivery);
    return content.authentic ? { authentic: true, ...unaddressed(content) } : content;
  },
  readWebhook(rawBody, receivedAt) {
    const news = provider.readWebhook(rawBody, receivedAt);
    return news && unaddressed(news);
  },
});
