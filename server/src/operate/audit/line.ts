import { isoOf } from '../../kinds/payment/view.ts';
import type { ExportedAudit } from '../find.sql.ts';

/** A row of the audit log as it leaves the program: the file of `audit export` and what is sent to a receiver have the same. */
export const auditLine = ({ at, chainedMs, ...row }: ExportedAudit) => ({
  ...row,
  at: isoOf(at),
  chainedAt: chainedMs === null ? null : isoOf(chainedMs),
});
