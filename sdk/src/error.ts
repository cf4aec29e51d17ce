import type { ErrorCode } from './contract.ts';

/**
 * Codes that the client itself gives, with `statusCode` 0:
 * `network_error` the connection failed; `timeout` no answer within `timeoutMs`; `aborted` the caller's signal;
 * `unexpected_answer` an answer that is not the service's (a proxy's page, a cut body; `statusCode` is what came);
 * `wait_timeout` a payment did not reach the wanted state in time; `invalid_signature` and `invalid_secret` of webhooks.
 */
export type ClientCode =
  | 'network_error'
  | 'timeout'
  | 'aborted'
  | 'unexpected_answer'
  | 'wait_timeout'
  | 'invalid_signature'
  | 'invalid_secret';

/** The fault of one field, or the limit that refused. */
export interface ErrorDetail {
  field?: string;
  code?: string;
  min?: number;
  max?: number;
  allowed?: string[];
  policy?: string;
}

export interface ErrorFacts {
  statusCode?: number;
  requestId?: string | undefined;
  paymentId?: string | undefined;
  requestKey?: string | undefined;
  retryable?: boolean;
  details?: ErrorDetail[] | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/**
 * Every failure of a call.
 *
 * @example
 * try {
 *   await vintem.transfers.create(transfer);
 * } catch (error) {
 *   if (!(error instanceof VintemError)) throw error;
 *   if (error.retryable) await repeatLater(transfer, error.requestKey); // the outcome is not known: same key, never a new one
 *   else if (error.code === 'insufficient_balance') await tellFinance();
 *   else throw error;
 * }
 */
export class VintemError extends Error {
  override readonly name = 'VintemError';
  /** The HTTP status; 0 when no answer came. */
  readonly statusCode: number;
  /** Branch on this, never on the message. Codes may be added. */
  readonly code: ErrorCode | ClientCode | (string & {});
  /** The service's id of the request, for its operator; absent when no answer came. */
  readonly requestId: string | undefined;
  /** The payment that a refusal names: it exists, and its `requestKey` is used up. */
  readonly paymentId: string | undefined;
  /** Of the creation that failed. Repeat it with this key; a new key may pay twice. */
  readonly requestKey: string | undefined;
  /**
   * true: the outcome is not known, or the refusal is a passing one; repeating the call, with this `requestKey` when it has
   * one, is safe. false: the service has refused; repeating changes nothing.
   */
  readonly retryable: boolean;
  readonly details: ErrorDetail[] | undefined;
  /** How long the service asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(code: string, message: string, facts: ErrorFacts = {}) {
    super(message, 'cause' in facts ? { cause: facts.cause } : undefined);
    this.code = code;
    this.statusCode = facts.statusCode ?? 0;
    this.requestId = facts.requestId;
    this.paymentId = facts.paymentId;
    this.requestKey = facts.requestKey;
    this.retryable = facts.retryable ?? false;
    this.details = facts.details;
    this.retryAfterMs = facts.retryAfterMs;
  }
}
