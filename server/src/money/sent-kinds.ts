/**
 * The kinds that are sent to a provider and followed there. Each adds its name from its own folder (`kinds/`), so that nothing here changes with a new
 * one. A request that a merchant makes about a charge adds the cause that it leaves in the charge's history, and its name for people, where a page or an
 * answer shows its id.
 */
// biome-ignore lint/suspicious/noEmptyInterface: the kinds fill it.
export interface SentKinds {}

export type SentKind = keyof SentKinds;

interface OfRequest {
  cause: string;
}

export type RequestKind = {
  [Name in SentKind]: SentKinds[Name] extends OfRequest ? Name : never;
}[SentKind];

export type RequestCause = SentKinds[RequestKind]['cause'];

export type ShownRequest = Extract<SentKinds[SentKind], { shownAs: string }>['shownAs'];
