import type { Adapter } from '../adapter.ts';
import { apiPixAdapters } from '../api-pix/api-pix.ts';
import { asaasAdapter } from '../asaas/asaas.ts';
import { asaasCheckoutAdapter } from '../asaas/asaas-checkout.ts';
import { efiAdapter } from '../efi/efi.ts';
import { interAdapter } from '../inter/inter.ts';
import { starkAdapter } from '../stark/stark.ts';
import { stripeAdapter } from '../stripe/stripe.ts';
import { wooviAdapter } from '../woovi/woovi.ts';

/** Every adapter, by the name under which connections are created. */
export const adapters = {
  efi: efiAdapter,
  woovi: wooviAdapter,
  inter: interAdapter,
  stark: starkAdapter,
  asaas: asaasAdapter,
  'stripe-checkout': stripeAdapter,
  'asaas-checkout': asaasCheckoutAdapter,
  ...apiPixAdapters,
} satisfies Record<string, Adapter>;

export type AdapterName = keyof typeof adapters;

export const adapterNames = Object.keys(adapters) as AdapterName[];

export const isAdapter = (name: string): name is AdapterName => Object.hasOwn(adapters, name);

/** Those that take cards, and no Pix. */
const acquirers: ReadonlySet<string | null> = new Set<AdapterName>(['stripe-checkout', 'asaas-checkout']);

export const isAcquirer = (name: string | null): boolean => acquirers.has(name);
