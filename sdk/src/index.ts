export type { ErrorCode } from './contract.ts';
export { type ClientCode, type ErrorDetail, VintemError } from './error.ts';
export type { FollowOptions } from './follow.ts';
export type { List, Page } from './pages.ts';
export type { CallOptions } from './transport.ts';
export type * from './types.ts';
export { type KeyedCall, Vintem, type VintemOptions, type WaitOptions } from './vintem.ts';
export { type VerifyOptions, verifyWebhook, type WebhookHeaders } from './webhook.ts';
