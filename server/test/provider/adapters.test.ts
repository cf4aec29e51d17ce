import { createPrivateKey } from 'node:crypto';
import { adapterKit } from '../../../testkit/src/adapter-kit.ts';
import { simulatorKey } from '../../src/operate/connections/credentials.ts';
import { createApiPixProvider } from '../../src/provider/api-pix/api-pix.ts';
import { createAsaasProvider } from '../../src/provider/asaas/asaas.ts';
import { createEfiProvider } from '../../src/provider/efi/efi.ts';
import { createInterProvider } from '../../src/provider/inter/inter.ts';
import { createStarkProvider } from '../../src/provider/stark/stark.ts';
import { createWooviProvider } from '../../src/provider/woovi/woovi.ts';

/** Every adapter against the simulator's dialect of its protocol. */

adapterKit({
  name: 'Efí',
  path: '',
  tokens: true,
  payouts: true,
  ownId: true,
  refundRefusal: true,
  create: (baseUrl, world, limits) =>
    createEfiProvider({
      connection: 'kit',
      test: true,
      simulated: true,
      baseUrl,
      clientId: 'vintem',
      clientSecret: 'a secret',
      pixKey: 'recebedor@vintem.example',
      webhook: { trust: 'signed', secret: 'a secret' },
      limits,
      ...world,
    }),
});

adapterKit({
  name: 'Woovi',
  path: '/woovi',
  tokens: false,
  twoSteps: true,
  payouts: true,
  ownId: true,
  refundRefusal: false,
  create: (baseUrl, world, limits) =>
    createWooviProvider({
      connection: 'kit',
      test: true,
      baseUrl,
      appId: Buffer.from('vintem:a secret').toString('base64'),
      limits,
      ...world,
    }),
});

adapterKit({
  name: 'Stark Bank',
  path: '/stark',
  tokens: false,
  payouts: true,
  ownId: true,
  refundRefusal: false,
  lacks: [
    ...(['cancels', 'refunds', 'static codes', 'due-date charges', 'disputes'] as const),
    'end-to-end ids of payouts',
  ],
  create: (baseUrl, world, limits) =>
    createStarkProvider({
      connection: 'kit',
      test: true,
      baseUrl,
      projectId: Buffer.from('vintem:a secret').toString('base64url'),
      privateKey: createPrivateKey(simulatorKey('a secret')),
      workspaceId: 'vintem',
      limits,
      ...world,
    }),
});

adapterKit({
  name: 'Inter',
  path: '/inter',
  tokens: true,
  payouts: true,
  ownId: false,
  restAfterLimitMs: 60_000,
  refundRefusal: true,
  create: (baseUrl, world, limits) =>
    createInterProvider({
      connection: 'kit',
      test: true,
      baseUrl,
      clientId: 'vintem',
      clientSecret: 'a secret',
      pixKey: 'recebedor@vintem.example',
      trust: 'path',
      dueCharges: true,
      limits: { ...limits, failureStandsMs: 0 },
      ...world,
    }),
});

adapterKit({
  name: 'Asaas',
  path: '/asaas',
  tokens: false,
  payouts: true,
  ownId: true,
  looksFirst: true,
  lacks: ['static codes', 'due-date charges', 'disputes'],
  refundRefusal: true,
  create: (baseUrl, { net, clock }, limits) =>
    createAsaasProvider({
      ...{ connection: 'kit', test: true, baseUrl, net, clock, limits },
      apiKey: `$aact_hmlg_${Buffer.from('vintem:a secret').toString('base64')}`,
      customer: 'cus_000005219613',
      email: 'operador@vintem.example',
      webhookToken: 'w'.repeat(32),
      withdrawalToken: 's'.repeat(32),
    }),
});

adapterKit({
  name: 'API Pix',
  path: '/api-pix',
  tokens: true,
  payouts: false,
  ownId: true,
  refundRefusal: true,
  create: (baseUrl, { net, clock, log }, limits) =>
    createApiPixProvider({
      connection: 'kit',
      test: true,
      url: `${baseUrl}/v2`,
      tokenUrl: `${baseUrl}/oauth/token`,
      token: {
        body: 'form',
        client: 'body',
        scope: 'cob.read cob.write cobv.read cobv.write pix.read pix.write',
      },
      clientId: 'vintem',
      clientSecret: 'a secret',
      pixKey: 'recebedor@vintem.example',
      trust: 'path',
      limits,
      net,
      clock,
      log,
    }),
});
