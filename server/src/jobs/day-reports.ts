import { keepMovements, movementsOfCosts } from '../flow/connection-movements.ts';
import { takeAllowedQuery } from '../flow/query.ts';
import type { TrackingDeps } from '../flow/tracking-deps.ts';
import type { DayReportOutcome, Provider } from '../provider/provider.ts';
import { claimJob, type Job } from '../store/rows/jobs.sql.ts';
import type { LineToAnswer } from '../store/rows/statement-lines.sql.ts';
import { setLinesAside } from '../store/rows/statement-lines.sql.ts';
import { beginReport, endReport, type ReportPlace } from './statement.sql.ts';

/**
 * Reports of closed days. They name returns on the day they moved, which the lists of a provider may show only under the time of
 * the Pix that was given back. So a return of an older Pix whose webhook was lost is found on the next day.
 *
 * A report is made asynchronously: it is requested, and read when it is ready. What it names is kept as lines to answer
 * (`statement-lines.ts`) before the next day begins. A day whose report does not come becomes a line for a person, and the next begins.
 */
const dayMs = 24 * 3_600_000;
/** The report of a day is requested when the day has been over this long: it then has the movements of the last moments. */
const settledAfterMs = 3_600_000;
/** Efí takes about 30 s to make a report. */
const lookAgainMs = 30_000;
const afterFailureMs = 10 * 60_000;
/** A report that is still being made after this long is requested again. */
const requestAgainAfterMs = 3_600_000;
/** A day is set aside when its report did not come for this long. */
const setAsideAfterMs = 24 * 3_600_000;
const job: Job = { what: 'day_report', claimMs: 5 * 60_000 };

/** The day in which a moment lies at the provider, as `2026-11-21`. */
export const dayOf = (at: number, utcOffsetMs: number): string =>
  new Date(at + utcOffsetMs).toISOString().slice(0, 10);

const endOf = (day: string, utcOffsetMs: number): number => Date.parse(day) - utcOffsetMs + dayMs;

const dayAfter = (day: string): string => dayOf(Date.parse(day) + dayMs, 0);

/** The days of a window that are over at `now`, the oldest first. */
export function closedDays(
  { fromMs, toMs }: { fromMs: number; toMs: number },
  now: number,
  utcOffsetMs: number,
): string[] {
  const days: string[] = [];
  for (let day = dayOf(fromMs, utcOffsetMs); ; day = dayAfter(day)) {
    const end = endOf(day, utcOffsetMs);
    if (end > now || end - dayMs > toMs) return days;
    days.push(day);
  }
}

type Ready = Extract<DayReportOutcome, { outcome: 'ready' }>;
type Answer = DayReportOutcome | Awaited<ReturnType<Provider['requestDayReport']>>;

const startOf = (day: string): ReportPlace => ({ day, reportId: null, since: null, requestedAt: null });

/** Where the reading continues after an answer. `unread`: why the day is set aside; null: it is not. */
export function nextPlace(
  place: ReportPlace,
  answer: Answer,
  now: number,
): { place: ReportPlace; dueAt: number; unread: string | null } {
  const since = place.since ?? now;
  const asked = { ...place, since };
  if (answer.outcome === 'ready') return { place: startOf(dayAfter(place.day)), dueAt: now, unread: null };
  if (now - since >= setAsideAfterMs) {
    const unread = answer.outcome === 'unclear' ? answer.detail : 'it was not ready in a day';
    return { place: startOf(dayAfter(place.day)), dueAt: now, unread };
  }
  const look = (then: ReportPlace, afterMs = lookAgainMs) => ({
    place: then,
    dueAt: now + afterMs,
    unread: null,
  });
  switch (answer.outcome) {
    case 'requested':
      return look({ ...asked, reportId: answer.reportId, requestedAt: now });
    case 'pending':
      return look(
        now - (place.requestedAt ?? now) < requestAgainAfterMs ? asked : { ...asked, reportId: null },
      );
    case 'notFound':
      return look({ ...asked, reportId: null });
    case 'unclear':
      return look(asked, afterFailureMs);
  }
}

/** The names in a report, as lines to answer. Records in which no id was found are one line, for a person to look at. */
export function linesOfReport(
  day: string,
  utcOffsetMs: number,
  { returns, unreadable }: Ready,
): LineToAnswer[] {
  const at = endOf(day, utcOffsetMs) - 1;
  const line = { at, kind: 'reported' as const, providerId: null };
  const named = returns.map((one) => ({ ...line, ...one }));
  if (unreadable === 0) return named;
  const unnamed = `${day}: ${unreadable} records without an id`;
  return [...named, { ...line, id: unnamed, rtrId: null, endToEnd: null, amountCents: null }];
}

/** A day without a report, as a line for a person to look at: it names no Pix that could be queried. */
const lineOfUnread = (day: string, utcOffsetMs: number): LineToAnswer => ({
  at: endOf(day, utcOffsetMs) - 1,
  kind: 'reported',
  id: `${day}: no report`,
  providerId: null,
  rtrId: null,
  endToEnd: null,
  amountCents: null,
});

/** One step of the report that is due. @returns false always: the loop waits its usual time before the next step */
export async function stepDayReport(deps: TrackingDeps, provider: Provider): Promise<boolean> {
  const offer = provider.capabilities.statement.dayReports;
  if (!offer) return false;
  const { connection } = provider;
  const { utcOffsetMs } = offer;
  const now = deps.clock.now();
  const turn = await claimJob(deps.sql, job, connection, now);
  const place = turn && (await beginReport(deps.sql, connection, dayOf(now - dayMs, utcOffsetMs)));
  if (!place) return false;
  const { day, reportId } = place;
  const next = (then: ReportPlace, dueAt: number) => endReport(deps.sql, turn, then, dueAt);
  const readableAt = endOf(day, utcOffsetMs) + settledAfterMs;
  if (now < readableAt) {
    await next(startOf(day), readableAt);
    return false;
  }
  const slot = await takeAllowedQuery(deps, provider);
  if (!slot) {
    await next(place, now + lookAgainMs);
    return false;
  }
  const answer = await (reportId === null
    ? provider.requestDayReport(day)
    : provider.readDayReport(reportId)
  ).finally(() => slot.free());
  const { place: then, dueAt, unread } = nextPlace(place, answer, now);
  if (answer.outcome === 'unclear')
    deps.log.warn({ connection, day, detail: answer.detail }, 'the report of a day cannot be read');
  if (answer.outcome === 'ready') {
    const lines = linesOfReport(day, utcOffsetMs, answer);
    await setLinesAside(deps.sql, connection, lines, { now, nextAt: now, problem: null });
    await keepMovements(deps, connection, movementsOfCosts(answer.costs ?? [], 'report'));
  }
  if (unread !== null) {
    deps.log.error({ connection, day, detail: unread }, 'the report of a day was set aside');
    const line = lineOfUnread(day, utcOffsetMs);
    await setLinesAside(deps.sql, connection, [line], { now, nextAt: now, problem: unread });
  }
  await next(then, dueAt);
  return false;
}
