import type { Adapter } from '../adapter.ts';
import { apiPixAdapters } from '../api-pix/api-pix.ts';
import { efiAdapter } from '../efi/efi.ts';
import { interAdapter } from '../inter/inter.ts';
import { wooviAdapter } from '../woovi/woovi.ts';

/** Every adapter, by the name under which connections are created. */
export const adapters = {
  efi: efiAdapter,
  woovi: wooviAdapter,
  inter: interAdapter,
  ...apiPixAdapters,
} satisfies Record<string, Adapter>;

export type AdapterName = keyof typeof adapters;

export const adapterNames = Object.keys(adapters) as AdapterName[];

export const isAdapter = (name: string): name is AdapterName => Object.hasOwn(adapters, name);
