import { asaasApi, asaasPosts, unknownAsaas } from './asaas-api.ts';
import type { Desk, Request } from './desk.ts';
import { interApi, interPosts } from './inter-api.ts';
import { itemsPerDelivery } from './outbox.ts';
import { type Outcome, providerApi } from './provider-api.ts';
import { starkApi, starkPosts, unknownStark } from './stark-api.ts';
import { stripeApi, stripePosts, unknownStripe } from './stripe-api.ts';
import type { TermsName } from './terms.ts';
import { efiPosts, type PostsOf } from './webhooks.ts';
import { failure } from './woovi.ts';
import { wooviApi, wooviPosts } from './woovi-api.ts';

/** A protocol in which a provider is spoken to. */
export interface Dialect {
  /** The calls of a client; undefined when there is no such call. */
  api(desk: Desk, request: Request): Outcome | undefined;
  /** The answer to a call that is none, where it is not that of API Pix. */
  unknown?(): Outcome;
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
  asaas: { api: asaasApi, unknown: unknownAsaas, posts: asaasPosts, perDelivery: 1, terms: 'asaas' },
  inter: { api: interApi, posts: () => interPosts, perDelivery: itemsPerDelivery, terms: 'inter' },
  'api-pix': { api: receiptsApi, posts: () => efiPosts, perDelivery: itemsPerDelivery, terms: 'free' },
};
