import type { Capabilities } from '../../server/src/provider/provider.ts';

/** What the first adapter declares. */
export const capabilities: Capabilities = {
  repeatIsSafe: true,
  refusalIsFinal: true,
  maxParallelSends: null,
  movesMoney: false,
  charges: true,
  payouts: true,
  queryPayoutByOwnId: true,
  cancelsCharges: false,
  canListCharges: true,
  canListPayouts: true,
  canRefund: true,
  canDispute: false,
  defence: null,
  hasBalance: true,
  webhookTrust: 'signed',
  callTimeoutMs: 5_000,
  sendTimeoutMs: 5_000,
  statement: { lists: true, dayReports: null },
};
