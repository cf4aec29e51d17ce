import type { Exchange } from '../exchange.ts';

/**
 * Asaas repeats the token of a card with every payment by card, in lists, answers and deliveries. It would charge the card again, so it is taken out of each
 * body before anything reads or keeps it: what cannot be read is kept whole and shown to operators.
 */
const member = 'creditCardToken';

function withoutTokens(text: string): { text: string; body: unknown } {
  try {
    const body: unknown = JSON.parse(text, (name, value) => (name === member ? undefined : value));
    return { text: JSON.stringify(body), body };
  } catch {
    // No JSON: what stands before it says enough.
    return { text: text.slice(0, text.indexOf(member)), body: undefined };
  }
}

export const exchangeWithoutTokens =
  (exchange: Exchange): Exchange =>
  async (call) => {
    const reply = await exchange(call);
    const hasToken = reply.kind === 'answer' && reply.text.includes(member);
    return hasToken ? { ...reply, ...withoutTokens(reply.text) } : reply;
  };

/** A delivery as it is read and stored. */
export const deliveryWithoutTokens = (rawBody: Buffer): Buffer =>
  rawBody.includes(member) ? Buffer.from(withoutTokens(rawBody.toString()).text) : rawBody;
