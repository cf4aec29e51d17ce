import { asaasApi, asaasPosts, unknownAsaas } from './asaas-api.ts';
import type { Desk, Request } from './desk.ts';
import { interApi, interPosts } from './inter-api.ts';
import { itemsPerDelivery } from './outbox.ts';
import { addressNotReached, type Outcome, providerApi } from './provider-api.ts';
import { starkApi, starkPosts, unknownStark } from './stark-api.ts';
import { stripeApi, stripePosts, unknownStripe } from './stripe-api.ts';
import type { TermsName } from './terms.ts';
import { efiPosts, efiTrial, type Post, type PostsOf } from './webhooks.ts';
import { failure } from './woovi.ts';
import { wooviApi, wooviPosts, wooviTrial } from './woovi-api.ts';

/** A protocol in which a provider is spoken to. */
export interface Dialect {
  /** The calls of a client; undefined when there is no such call. */
  api(desk: Desk, request: Request): Outcome | undefined;
  /** The answer to a call that is none, where it is not that of API Pix. */
  unknown?(): Outcome;
  /** The call with which its provider tries an address before it registers it; undefined: the request registers none. */
  trial?(desk: Desk, request: Request): Post | undefined;
  /** The answer when that call was not taken. */
  notReached?(): Outcome;
  posts(desk: Pick<Desk, 'bank' | 'commit' | 'world'>): PostsOf;
  /** Payments in one delivery: a delivery is answered, and sent again, as a whole. */
  perDelivery: number;
  terms: TermsName;
  /** It has pages on which cards are taken. */
  cards?: true;
}

/** Efí's, at the root. */
export const rootDialect: Dialect = {
  api: providerApi,
  trial: efiTrial,
  notReached: addressNotReached,
  posts: () => efiPosts,
  perDelivery: itemsPerDelivery,
  terms: 'efi',
};

/** API Pix alone, as a bank gives it: what is Efí's own is not there. */
function receiptsApi(desk: Desk, request: Request): Outcome | undefined {
  return request.path[0] === 'v3' || request.path[1] === 'gn' ? undefined : providerApi(desk, request);
}

/** The others, each below its name and on a truth of its own. */
export const dialects: Readonly<Record<string, Dialect>> = {
  woovi: {
    api: wooviApi,
    unknown: () => failure('Not found', 404),
    trial: wooviTrial,
    notReached: () => failure('Não foi possível chamar a URL do webhook'),
    posts: wooviPosts,
    perDelivery: 1,
    terms: 'woovi',
  },
  /** Cards alone. */
  stripe: {
    api: stripeApi,
    unknown: unknownStripe,
    posts: () => stripePosts,
    perDelivery: 1,
    terms: 'free',
    cards: true,
  },
  stark: { api: starkApi, unknown: unknownStark, posts: starkPosts, perDelivery: 1, terms: 'stark' },
  asaas: {
    ...{ api: asaasApi, unknown: unknownAsaas, posts: asaasPosts, perDelivery: 1, terms: 'asaas' },
    cards: true,
  },
  inter: { api: interApi, posts: () => interPosts, perDelivery: itemsPerDelivery, terms: 'inter' },
  'api-pix': { api: receiptsApi, posts: () => efiPosts, perDelivery: itemsPerDelivery, terms: 'free' },
};
