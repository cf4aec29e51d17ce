import type { Capabilities } from '../../server/src/provider/provider.ts';

/** The capabilities of the first adapter. */
export const capabilities: Capabilities = {
  repeatIsSafe: true,
  refusalIsFinal: true,
  maxParallelSends: null,
  movesMoney: false,
  charges: true,
  payouts: true,
  queryPayoutByOwnId: true,
  cancelsCharges: true,
  cards: false,
  dueCharges: true,
  staticCodes: 'local',
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
