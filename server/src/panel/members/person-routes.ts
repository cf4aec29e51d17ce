import type { ApiScope, RouteFacts } from '../../edge/edge.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import type { Notice, RecentNotice } from '../../operate/notice.ts';
import type { Attempts } from '../auth/attempts.ts';
import { secondFactorDueAt } from '../auth/second-factor.ts';
import { actorOf, type Person, type Sessions } from '../auth/session.ts';
import { PanelError } from '../errors.ts';
import {
  findMemberships,
  findPassword,
  type Membership,
  markAuthenticated,
  updateProfile,
} from '../people/members.sql.ts';
import { isPassword } from '../people/password.ts';
import { abilitiesOf } from '../people/roles.ts';
import { recordSecurityEvent, type SecurityEventDeps } from '../people/security-events.ts';
import { findSeenAccounts, type SupportView } from '../people/support-views.sql.ts';
import { Done, PasswordBody, ProfileBody, SessionSchema } from '../schema/schema.ts';

/** Of every route that concerns a person, in whatever account. */
export const personConfig: { api: RouteFacts } = {
  api: { permissions: ['read'], policy: 'reads', operation: 'syntax' },
};

interface Facts {
  mailbox: boolean;
  simulatorUrl: string | null;
}

/** Who is signed in. */
export function personRoutes(
  api: ApiScope,
  deps: SecurityEventDeps & { notice: RecentNotice },
  sessions: Sessions,
  attempts: Attempts,
  facts: Facts,
): void {
  const { sql, clock } = deps;
  const tags = ['Person'];

  api.get(
    '/session',
    { schema: { tags, summary: 'Who is signed in', response: { 200: SessionSchema } }, config: personConfig },
    async (request) => {
      if (request.view !== null) return ofView(request.view);
      const person = await sessions.personOf(request);
      const memberships = await findMemberships(sql, person);
      const accountIds = memberships.map(({ accountId }) => accountId);
      const seen = await findSeenAccounts(sql, accountIds, clock.now());
      return {
        ...viewOf(person, memberships, facts, clock.now(), seen),
        notice: noticeView(await deps.notice.current()),
      };
    },
  );

  api.patch(
    '/profile',
    {
      schema: { tags, summary: 'Change name or language', body: ProfileBody, response: { 200: Done } },
      config: personConfig,
    },
    async (request) => {
      const person = await sessions.personOf(request);
      const { name = person.name, language = person.language } = request.body;
      await updateProfile(sql, person.userId, name, language);
      return { ok: true as const };
    },
  );

  api.post(
    '/reauthenticate',
    {
      schema: { tags, summary: 'Give the password again', body: PasswordBody, response: { 200: Done } },
      config: personConfig,
    },
    async (request) => {
      const person = await sessions.personOf(request);
      await attempts.take('password', person.userId);
      const stored = await findPassword(sql, person.userId);
      if (stored === null || !(await isPassword(stored, request.body.password))) {
        throw new PanelError('wrong_password');
      }
      await attempts.forget('password', person.userId);
      await markAuthenticated(sql, person.id, clock.now());
      await recordSecurityEvent(deps, { kind: 'password.checked', ...actorOf(request) });
      return { ok: true as const };
    },
  );
}

/** The session of an operator who sees the panel of one account. */
const ofView = (view: SupportView) => ({
  ...{ name: view.operatorName, email: view.operatorEmail, language: 'pt-BR' as const },
  ...{ twoFactorEnabled: false, passkeys: 0, secondFactor: true, frozenUntil: null },
  ...{ sessionId: view.id, csrf: '', mailbox: false, simulatorUrl: null, notice: null },
  view: { endsAt: isoOf(view.endsAt), reason: view.reason },
  accounts: [
    {
      ...{ id: view.accountId, name: view.accountName, test: view.test, role: 'viewer' as const },
      ...{ abilities: [...abilitiesOf('viewer')], secondFactorDueAt: null, seenUntil: null },
    },
  ],
});

function viewOf(
  person: Person,
  memberships: readonly Membership[],
  facts: Facts,
  now: number,
  seen: ReadonlyMap<string, number>,
) {
  return {
    name: person.name,
    email: person.email,
    language: person.language,
    twoFactorEnabled: person.twoFactorEnabled,
    passkeys: person.passkeys,
    secondFactor: person.secondFactor,
    frozenUntil: person.frozenUntil !== null && person.frozenUntil > now ? isoOf(person.frozenUntil) : null,
    sessionId: person.id,
    csrf: person.csrf,
    mailbox: facts.mailbox,
    simulatorUrl: memberships.some((one) => one.test) ? facts.simulatorUrl : null,
    view: null,
    accounts: memberships.map((one) => ({
      id: one.accountId,
      name: one.accountName,
      test: one.test,
      role: one.role,
      abilities: [...abilitiesOf(one.role)],
      secondFactorDueAt: instant(secondFactorDueAt(one)),
      seenUntil: instant(seen.get(one.accountId) ?? null),
    })),
  };
}

/** Who set it is no business of merchants. */
const noticeView = (notice: Notice | null) =>
  notice && {
    pt: notice.pt,
    en: notice.en,
    until: isoOf(notice.untilAt),
    setAt: isoOf(notice.setAt),
  };

const instant = (ms: number | null): string | null => (ms === null ? null : isoOf(ms));
