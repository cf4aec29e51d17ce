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
  ...provider,
  identity: null,
  createCharge: sendsNothing,
  queryCharge: asksNothing,
  listCharges: asksNothing,
  ...(provider.cancelCharge && { cancelCharge: sendsNothing }),
  ...(provider.createStaticCode && { createStaticCode: sendsNothing }),
  sendPayout: sendsNothing,
  ...(provider.confirmPayout && { confirmPayout: sendsNothing }),
  queryPayout: asksNothing,
  listPayouts: asksNothing,
  sendRefund: sendsNothing,
  queryRefund: asksNothing,
  async parseWebhook(delivery) {
    const content = await provider.parseWebhook(delivery);
    return content.authentic ? { authentic: true, ...unaddressed(content) } : content;
  },
  readWebhook(rawBody, receivedAt) {
    const news = provider.readWebhook(rawBody, receivedAt);
    return news && unaddressed(news);
  },
  registerWebhook: refuses,
  balance: refuses,
  statement: asksNothing,
  ...(provider.listReturns && { listReturns: asksNothing }),
  ...(provider.listCosts && { listCosts: asksNothing }),
  requestDayReport: asksNothing,
  readDayReport: asksNothing,
  ...(provider.disputes && { disputes: { list: asksNothing, defend: sendsNothing } }),
  ...(provider.cards && {
    cards: {
      create: sendsNothing,
      query: asksNothing,
      expire: sendsNothing,
      ...(provider.cards.listPayouts && { listPayouts: asksNothing }),
    },
  }),
  ...(provider.dueCharges && {
    dueCharges: {
      create: sendsNothing,
      query: asksNothing,
      list: asksNothing,
      cancel: sendsNothing,
      ...(provider.dueCharges.change && { change: sendsNothing }),
    },
  }),
  ...(provider.lookUpReceiver && { lookUpReceiver: asksNothing }),
  findPix: asksNothing,
});
