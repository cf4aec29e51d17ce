import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { Caller } from '../ground/caller.ts';
import type { ApiError, Language } from '../ground/errors.ts';
import type { Permission } from '../ground/permissions.ts';
import type { Policy } from './rate-limit.ts';
import type { RequestTurns } from './request-turns.ts';
import type { ClientTrace } from './trace.ts';

/** The declaration of a route of the public API beside its schema. */
export interface RouteFacts {
  /** One of these is enough. */
  permissions: readonly Permission[];
  policy: Policy;
  /** `syntax`: X-Service-Operation is checked but not resolved, so that an operation can be deleted twice under its own id. */
  operation: 'resolve' | 'syntax';
  /** A call that creates something answers an unexpected failure with 503: keep the reference, look before repeating. */
  creates?: boolean;
  /** The content types of its body, where that is a file and no JSON. */
  consumes?: readonly string[];
  /** The content type of its answer, where that is not JSON. */
  produces?: string;
  /** Answers of the success status by name, for the document; default: one, made from the schema. */
  examples?: Readonly<Record<string, unknown>>;
  /** Unix seconds since when the call is deprecated (RFC 9745). */
  deprecatedAt?: number;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** In which order the requests of this process begin. */
    turns: RequestTurns;
  }
  interface FastifyRequest {
    /** Set on every route of the public API before its handler runs. */
    caller: Caller;
    /** The cell of the caller's account, set with `caller`. */
    cell: string;
    language: Language;
    /** The caller's own ids of its request. */
    trace: ClientTrace;
    /** Monotonic. */
    arrivedMs: number;
    /** In whose line its statements wait while no account is known (`store/database/turns.ts`); null: in that of everybody. */
    waitsAs: string | null;
    /** Whose key it came with, once that is known; null before. */
    holder: Holder | null;
    /** The error code of its refusal. */
    refusal: ApiError | null;
  }
  // The content of a route's `config`; absent outside of the public API.
  interface FastifyContextConfig {
    api?: RouteFacts;
    /** It answers other methods than a call has, before anything is looked at. */
    refuses?: true;
  }
}

/** The scope in which the rooms register their calls. */
export type ApiScope = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** Parts that belong to one cell, by the name of the cell: a call takes those of its caller's account. */
export type CellOf<Parts> = (holder: { cell: string }) => Parts;

/** Made once for each cell, with its first call. */
export function onceForCell<Parts, Made>(cellOf: CellOf<Parts>, make: (parts: Parts) => Made): CellOf<Made> {
  const made = new Map<string, Made>();
  return (holder) => {
    let one = made.get(holder.cell);
    if (one === undefined) {
      one = make(cellOf(holder));
      made.set(holder.cell, one);
    }
    return one;
  };
}

/** Who asked, as soon as the key is known: refused requests have it too. */
export interface Holder {
  id: string;
  cell: string;
  accountId: string;
  accountNumber: number;
}
