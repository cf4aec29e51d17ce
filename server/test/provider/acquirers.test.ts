import { acquirerKit } from '@vintem/testkit/acquirer-kit.ts';
import { asaasCheckoutAdapter } from '../../src/provider/asaas/asaas-checkout.ts';
import { stripeAdapter } from '../../src/provider/stripe/stripe.ts';

/** The same duties for every acquirer, on the simulator's one truth about cards. */

const common = {
  ...{ name: 'cartoes', test: true, simulated: true, certificate: null },
};

acquirerKit({
  name: 'Stripe Checkout',
  path: '/stripe',
  lacks: [],
  create: (url, world) =>
    stripeAdapter.create(
      {
        ...{ ...common, url },
        credentials: {
          secretKey: `sk_test_${Buffer.from('loja:segredo').toString('base64url')}`,
          webhookSecret: 'whsec_segredo',
        },
      },
      world,
    ),
});

acquirerKit({
  name: 'Asaas Checkout',
  path: '/asaas',
  lacks: [
    ...(['one page for an id', 'reading of pages', 'reasons of refusals', 'currencies'] as const),
    ...(['repeats of refunds', 'signatures', 'costs of disputes'] as const),
  ],
  create: (url, world) =>
    asaasCheckoutAdapter.create(
      {
        ...{ ...common, url },
        credentials: {
          apiKey: `$aact_hmlg_${Buffer.from('loja:segredo').toString('base64')}`,
          email: 'operador@vintem.example',
          webhookToken: 'w'.repeat(32),
        },
      },
      world,
    ),
});
