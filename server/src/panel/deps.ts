import type { KeyPlaces } from '../api/transfers/key-places.ts';
import type { Load } from '../edge/load.ts';
import type { Addresses } from '../events/webhooks/address.ts';
import type { AcceptDeps } from '../flow/accept.ts';
import type { Config } from '../ground/config.ts';
import type { Mail } from '../ground/mail.ts';
import type { Papers } from '../ground/paper/papers.ts';
import type { Places } from '../ground/places.ts';

/** What the panel's back end needs. */
export interface PanelDeps extends AcceptDeps {
  config: Config;
  mail: Mail;
  /** Where webhooks may go. */
  addresses: Addresses;
  /** Whether this process may write limits that all processes share. */
  mayShare(): boolean;
  /** Sheds calls under overload, as those of the API; absent: nothing is shed. */
  load?: Load;
  /** Where documents are drawn. */
  papers: Papers;
  /** Look-ups that the central directory may answer with no key. */
  keyPlaces: KeyPlaces;
  /** Where sealed keys are opened for a search: 80 ms of work for a page. */
  keySearches: Places;
  /** Where requests of the panel come from: our public address, and on loopback its other names. */
  origins: ReadonlySet<string>;
}

/** A browser on this machine may have been given any of the names of loopback. */
export function originsOf(publicUrl: string): ReadonlySet<string> {
  const { origin, hostname, protocol, port } = new URL(publicUrl);
  const loopback = ['127.0.0.1', 'localhost', '[::1]'];
  if (protocol !== 'http:' || !loopback.includes(hostname)) return new Set([origin]);
  return new Set(loopback.map((name) => new URL(`http://${name}${port ? `:${port}` : ''}`).origin));
}
