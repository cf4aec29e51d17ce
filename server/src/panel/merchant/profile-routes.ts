import { Type } from 'typebox';
import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import { cnpjOf } from '../../ground/cnpj.ts';
import type { Sql } from '../../ports/sql.ts';
import { findProfile, putLogo, putProfile } from '../../store/rows/profile.sql.ts';
import { note, type PanelFacts } from '../auth/session.ts';
import { PanelError } from '../errors.ts';
import type { SecurityEventDeps } from '../people/security-events.ts';
import { Done, LogoBody, MerchantProfileBody, MerchantProfileSchema, Nothing } from '../schema/schema.ts';
import { contrastWithWhite, leastContrast } from './colour.ts';
import { cleanLogo, logoMostBytes } from './logo.ts';

const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const asks = (needs: PanelFacts['needs'], more: Omit<PanelFacts, 'needs'> = {}) => ({
  api: described,
  panel: { needs, ...more },
});
/** Only those who decide who belongs to an account change its look for payers. */
const decides = asks('members', { fresh: true, sensitive: true });
const tags = ['Merchant'];

export function merchantProfileRoutes(api: ApiScope, cellOf: CellOf<SecurityEventDeps>): void {
  profileRoutes(api, cellOf);
  logoRoutes(api, cellOf);
}

function profileRoutes(api: ApiScope, cellOf: CellOf<SecurityEventDeps>): void {
  api.get(
    '/merchant-profile',
    {
      schema: { tags, summary: 'How the merchant shows itself', response: { 200: MerchantProfileSchema } },
      config: asks('read'),
    },
    async ({ member }) => viewOf(cellOf(member), member.accountId),
  );

  api.post(
    '/merchant-profile',
    {
      schema: {
        tags,
        summary: 'Replace names, CNPJ and colour; what is left out is none',
        body: MerchantProfileBody,
        response: { 200: MerchantProfileSchema },
      },
      config: decides,
    },
    async (request) => {
      const { accountId } = request.member;
      const deps = cellOf(request);
      const { displayName = null, legalName = null, cnpj: written, colour: picked } = request.body;
      const cnpj = written === undefined ? null : cnpjOf(written);
      if (written !== undefined && cnpj === null) throw new PanelError('cnpj_invalid');
      const colour = picked?.toLowerCase() ?? null;
      if (colour !== null && contrastWithWhite(colour) < leastContrast)
        throw new PanelError('colour_too_light');
      const updatedAt = deps.clock.now();
      await putProfile(deps.sql, accountId, { displayName, legalName, cnpj, colour, updatedAt });
      await note(deps, request, 'profile.changed');
      return viewOf(deps, accountId);
    },
  );
}

function logoRoutes(api: ApiScope, cellOf: CellOf<SecurityEventDeps>): void {
  api.post(
    '/merchant-profile/logo',
    {
      // Base64 of the largest file, and its quotes.
      bodyLimit: Math.ceil(logoMostBytes / 3) * 4 + 100,
      schema: { tags, summary: 'Change the logo', body: LogoBody, response: { 200: Done } },
      config: decides,
    },
    async (request) => {
      const deps = cellOf(request);
      const logo = cleanLogo(Buffer.from(request.body.png, 'base64'));
      if (logo === null) throw new PanelError('logo_refused');
      await putLogo(deps.sql, request.member.accountId, logo, deps.clock.now());
      await note(deps, request, 'profile.changed');
      return { ok: true as const };
    },
  );

  api.post(
    '/merchant-profile/logo/remove',
    {
      schema: { tags, summary: 'Take the logo away', body: Nothing, response: { 200: Done } },
      config: decides,
    },
    async (request) => {
      const deps = cellOf(request);
      await putLogo(deps.sql, request.member.accountId, null, deps.clock.now());
      await note(deps, request, 'profile.changed');
      return { ok: true as const };
    },
  );

  api.get(
    '/merchant-profile/logo.png',
    {
      schema: {
        querystring: Type.Object(
          { version: Type.Optional(Type.String({ maxLength: 40 })) },
          { additionalProperties: false },
        ),
      },
      config: { panel: { needs: 'read' } },
    },
    async ({ member }, reply) => {
      const logo = (await findProfile(cellOf(member).sql, member.accountId))?.logo;
      if (!logo) throw new PanelError('not_found');
      return reply
        .type('image/png')
        .header('cache-control', 'private, no-cache')
        .header('x-content-type-options', 'nosniff')
        .header('content-security-policy', "default-src 'none'; sandbox")
        .send(logo);
    },
  );
}

async function viewOf({ sql }: { sql: Sql }, accountId: string) {
  const profile = await findProfile(sql, accountId);
  return {
    displayName: profile?.displayName ?? null,
    legalName: profile?.legalName ?? null,
    cnpj: profile?.cnpj ?? null,
    colour: profile?.colour ?? null,
    logoVersion: profile?.logo ? String(profile.updatedAt) : null,
  };
}
