import type { Queries, Statement } from '../ports/sql.ts';
import { type Operator, OperatorRefused } from '../store/operator.ts';
import { installationId, writeAudit } from '../store/rows/audit.sql.ts';
import { findWebhookTokens } from '../store/rows/inbound.sql.ts';

/**
 * Changes the secret part of the address that a provider delivers to.
 *
 * Two are good at any time: the new one, and the one before, since deliveries are on their way and a provider takes its time.
 * Each change revokes the oldest address. If both may be known, change the address twice. Rejected: an end by time, because
 * a provider that missed the change (down, or its registration refused) would deliver to a dead address from then on.
 *
 * The running services tell the provider by themselves (`api.ts`).
 */
const change: Statement = {
  name: 'webhook_address_change',
  text: `UPDATE connection SET webhook_token_previous = webhook_token, webhook_token = $2 WHERE id = $1 RETURNING id`,
};

/** @throws OperatorRefused no such connection */
export async function changeWebhookAddress(
  operator: Operator,
  connection: string,
): Promise<{ connection: string }> {
  const token = operator.ids.bytes(24).toString('base64url');
  return operator.sql.tx(async (tx) => {
    const [changed] = await tx.run(change, [connection, token]);
    if (!changed) throw new OperatorRefused(`no connection ${connection}`);
    const audit = {
      accountId: installationId,
      id: operator.ids.uuid(),
      at: operator.clock.now(),
      actor: operator.actor,
      action: 'webhook_address.change',
      subject: connection,
      reason: null,
      detail: {},
    };
    await writeAudit(tx, audit);
    return { connection };
  });
}

/**
 * For a provider where a person enters it. With it deliveries can be forged where nothing else proves them, so it is shown at the shell alone.
 * @throws OperatorRefused no such connection
 */
export async function showWebhookAddress(
  { sql, config }: { sql: Queries; config: { hooksUrl: string } },
  connection: string,
): Promise<{ connection: string; address: string }> {
  const tokens = await findWebhookTokens(sql, connection);
  if (!tokens) throw new OperatorRefused(`no connection ${connection}`);
  return { connection, address: `${config.hooksUrl}/hooks/providers/${connection}/${tokens.current}` };
}
