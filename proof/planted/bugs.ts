/** A mistake of one line in the money path: the first match of `line` in the file is replaced. */
export interface Bug {
  name: string;
  file: string;
  line: string;
  with: string;
  /** The rig that must fail. */
  rig: 'search' | 'simulation' | 'properties' | 'history' | 'suite';
  /** With `suite`: the file of the test suite. */
  test?: string;
}

const settlement = 'server/src/settlement';
const state = 'server/src/payments/state.ts';
const decide = 'server/src/ledger/decide.ts';
const till = 'server/src/ledger/till.ts';

/**
 * Not in the list, since nothing comes of it: leaving out the lock of the account's row (`accounts/lock.sql.ts`) alone. Every
 * account has a balance row, so the locks of all of them, taken next, put creations and deletions in line as well.
 */
export const bugs: Bug[] = [
  {
    name: 'release on "not found"',
    file: `${settlement}/tracking/interpret-report.ts`,
    line: `events: refusedForGood ? [{`,
    with: `events: refusedForGood || payment.kind === 'transfer' ? [{`,
    rig: 'search',
  },
  {
    name: 'release on a refusal that answers a repeat',
    file: `${settlement}/tracking/interpret-report.ts`,
    line: 'return intent.attempt === 1',
    with: 'return intent.attempt >= 1',
    rig: 'search',
  },
  {
    name: 'release on no answer',
    file: `${settlement}/tracking/interpret-report.ts`,
    line: "      return nothingOf({ type: 'unclear',",
    with: "      return { ...nothingOf({ type: 'duplicate' }), events: [{ type: 'refused', reason: 'provider_refused' }] };\n      return nothingOf({ type: 'unclear',",
    rig: 'search',
  },
  {
    name: 'an overtaken owner may judge its attempt',
    file: `${settlement}/tracking/interpret-report.ts`,
    line: `if (intent?.state !== 'sending' || intent.fence !== fence) {`,
    with: `if (intent?.state !== 'sending') {`,
    rig: 'search',
  },
  {
    name: 'a lease without an end: a taken-over payment is sent again at once',
    file: `${settlement}/dispatch/intent.ts`,
    line: `intent.state === 'awaiting' && intent.absences >= 2 && !intent.known && capabilities.repeatIsSafe;`,
    with: `intent.state === 'awaiting';`,
    rig: 'search',
  },
  {
    name: 'repeats although the adapter does not call them safe',
    file: `${settlement}/dispatch/intent.ts`,
    line: `intent.absences >= 2 && !intent.known && capabilities.repeatIsSafe;`,
    with: `intent.absences >= 2 && !intent.known;`,
    rig: 'search',
  },
  {
    name: 'no answer counts as "nothing was sent"',
    file: `${settlement}/dispatch/intent.ts`,
    line: `return { ...ended, newsAt, dueAt: Math.max(`,
    with: `if (intent.attempt === 1) return { ...ended, priority: sendPriority, state: 'ready', attempt: 0, newsAt, dueAt: now };
      return { ...ended, newsAt, dueAt: Math.max(`,
    rig: 'search',
  },
  {
    name: 'sent before it is committed',
    file: `${settlement}/dispatch/accept.ts`,
    line: `  const { payment, replayed, fence, breakerOpen } = await deps.till.submit(command);`,
    with: `  if (pixKey) void deps.providers.get(plan.connection)?.sendPayout({ providerId: paymentId.replaceAll('-', ''), amountCents: order.amountCents - 25, pixKey: pixKey.key, pixKeyType: pixKey.type, description: '' });
  const { payment, replayed, fence, breakerOpen } = await deps.till.submit(command);`,
    rig: 'simulation',
  },
  {
    name: 'a repeated request key makes another payment',
    file: 'server/src/request-keys/idempotency.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code
    line: '(`payment\\0${account.id}\\0${requestKey}`)',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code
    with: '(`payment\\0${account.id}\\0${requestKey}${performance.now()}`)',
    rig: 'simulation',
  },
  {
    name: 'another amount with a taken key is answered as a repeat',
    file: 'server/src/request-keys/idempotency.ts',
    line: 'taken.length === repeated.length && timingSafeEqual(taken, repeated)',
    with: 'taken.length === repeated.length',
    rig: 'search',
  },
  {
    name: 'a second id on the second attempt',
    file: `${settlement}/dispatch/send.ts`,
    line: 'providerId: providerIdOf(id),',
    with: 'providerId: providerIdOf(deps.ids.uuid()),',
    rig: 'simulation',
  },
  {
    name: 'the gross is sent, fee included',
    file: `${settlement}/dispatch/send.ts`,
    line: 'amountCents: amountCents - feeCents,',
    with: 'amountCents,',
    rig: 'simulation',
  },
  {
    name: 'the fee is taken from the account at settlement',
    file: state,
    line: `movement: { kind: 'complete', grossCents: payment.amountCents, feeCents: payment.feeCents },`,
    with: `movement: { kind: 'complete', grossCents: payment.amountCents, feeCents: payment.feeCents + 5 },`,
    rig: 'simulation',
  },
  {
    name: "the webhook's amount is trusted",
    file: state,
    line: 'if (payable && amountCents === payment.amountCents) {',
    with: 'if (payable) {',
    rig: 'simulation',
  },
  {
    name: 'a Pix that was credited is credited again',
    file: state,
    line: 'if (payment.endToEnd === event.endToEnd || facts.posted(eventKinds.suspense, event.endToEnd)) return null;',
    with: '',
    rig: 'search',
  },
  {
    name: 'a return is posted once per report and not once',
    file: state,
    line: 'if (facts.knowsReturn(reference)) return null;',
    with: '',
    rig: 'search',
  },
  {
    name: 'a return is identified by its id alone, whatever Pix it belongs to',
    file: 'server/src/payments/returns.ts',
    line: 'const ofPix = known.filter((one) => one.pix === null || one.pix === pix);',
    with: 'const ofPix = known;',
    rig: 'simulation',
  },
  {
    name: 'the two names of a return are not matched',
    file: 'server/src/payments/returns.ts',
    line: 'const same = found[at] ?? nearest(line, [...free]);',
    with: 'const same = found[at];',
    rig: 'search',
  },
  {
    name: 'a day of answered queries opens no incident unless a repeat was refused in words that are listed',
    file: `${settlement}/dispatch/intent.ts`,
    line: `{ undecidedSince, answeredAt }: Intent,
): boolean {`,
    with: `{ undecidedSince, answeredAt, refused }: Intent,
): boolean {
  if (!refused) return false;`,
    rig: 'search',
  },
  {
    name: 'a report with another amount settles',
    file: state,
    line: 'report.amountCents === reportedFor(payment) &&',
    with: '',
    rig: 'search',
  },
  {
    name: '"completed" moves a cancelled transfer',
    file: state,
    line: "if (!isOpen(payment)) return contradiction(payment, 'completed', event.amountCents);",
    with: '',
    rig: 'search',
  },
  {
    name: 'a refusal after completion releases',
    file: state,
    line: "if (payment.status === 'completed') return contradiction(payment, 'refused', payment.amountCents);\n  if (!isOpen(payment)) return null;",
    with: '',
    rig: 'search',
  },
  {
    name: 'late money of an expired charge is lost',
    file: state,
    line: "const payable = isOpen(payment) || payment.status === 'expired';\n  if (facts",
    with: "const payable = isOpen(payment);\n  if (payment.status === 'expired') return null;\n  if (facts",
    rig: 'search',
  },
  {
    name: 'money for a deleted operation is credited to it',
    file: state,
    line: `  if (facts.operationDeleted) {
    const step = payable`,
    with: `  if (facts.operationDeleted && amountCents === 0) {
    const step = payable`,
    rig: 'search',
  },
  {
    name: 'a reserve that the balance does not cover',
    file: decide,
    line: 'before.receivable > 0 || before.available < gross',
    with: 'before.receivable > 0 || before.available + before.reserved < gross',
    rig: 'search',
  },
  {
    name: 'the reserve is not counted',
    file: decide,
    line: 'lines.reserved = gross;',
    with: 'lines.suspense = gross;',
    rig: 'search',
  },
  {
    name: 'a release keeps the fee',
    file: decide,
    line: 'return raised(before, lines, movement.grossCents);',
    with: 'lines.feeRevenue = 25;\n      return raised(before, lines, movement.grossCents - 25);',
    rig: 'simulation',
  },
  {
    name: 'a lost answer to COMMIT counts as committed',
    file: till,
    line: 'return await sql.tx((tx) => flush.isCommitted(tx));',
    with: 'return true;',
    rig: 'simulation',
  },
  {
    name: 'a second command of a flush does not see the first',
    file: till,
    line: 'this.#balances.set(key, row);\n        this.#touched.add(key);',
    with: 'if (!this.#touched.has(key)) this.#balances.set(key, row);\n        this.#touched.add(key);',
    rig: 'simulation',
  },
  {
    name: 'no event is written when a transfer completes',
    file: state,
    line: "    'transfer.completed',\n",
    with: '',
    rig: 'simulation',
  },
  {
    name: 'an intent stays behind when its payment has ended',
    file: `${settlement}/tracking/outcome-command.ts`,
    line: 'if (intent && isTerminal(last.status)) writes.push(remove(intents, key));',
    with: "if (intent && last.status === 'paid') writes.push(remove(intents, key));",
    rig: 'search',
  },
  {
    name: 'deliveries are believed unsigned',
    file: 'server/src/provider/efi.ts',
    line: "if (!matches) return 'the signature is not ours';",
    with: '',
    rig: 'simulation',
  },
  {
    name: 'an ended lease is taken over and the payment never queried',
    file: `${settlement}/dispatch/intent.ts`,
    line: '  leaseUntil: null,\n  dueAt: now,',
    with: '  leaseUntil: null,\n  dueAt: now + 30 * day,',
    rig: 'simulation',
  },
  {
    name: 'the balance row is not locked',
    file: 'server/src/ledger/ledger.sql.ts',
    line: '    FOR NO KEY UPDATE OF b`',
    with: '    `',
    rig: 'properties',
  },
  {
    name: 'a delivery that comes again is money again',
    file: state,
    line: 'payment.endToEnd === event.endToEnd || facts.posted(eventKinds.suspense, event.endToEnd)',
    with: 'facts.posted(eventKinds.suspense, event.endToEnd)',
    rig: 'properties',
  },
  {
    name: "the account's balance rows are not locked when operations come and go",
    file: 'server/src/accounts/lock.sql.ts',
    line: 'ORDER BY account_id, operation_id FOR NO KEY UPDATE',
    with: 'ORDER BY account_id, operation_id',
    rig: 'properties',
  },
  {
    name: 'answered before it is on disk',
    file: till,
    line: '      await tx.commit();',
    with: '      this.answer();\n      await tx.commit();',
    rig: 'simulation',
  },
  {
    name: 'a repeat is another payment when the process that took the first is gone',
    file: 'server/src/request-keys/idempotency.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code
    line: 'const digest = macOf(identity)(`payment\\0${account.id}\\0${requestKey}`);',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code
    with: 'const digest = macOf(identity)(`payment\\0${account.id}\\0${requestKey}${process.pid}`);',
    rig: 'history',
  },
  {
    name: 'a look-up goes back to what was before',
    file: 'server/src/payments/view.ts',
    line: '    status: payment.status,',
    with: "    status: payment.status === 'completed' && Math.random() < 0.2 ? 'pending' : payment.status,",
    rig: 'history',
  },
  {
    name: 'a rotation drops the old secret while a process still seals under it',
    file: 'server/src/db/installation-secret.ts',
    line: 'if (inUse.length === 0) break;',
    with: 'break;',
    rig: 'suite',
    test: 'server/test/program/secrets.test.ts',
  },
  {
    name: 'a secret that is in use is not renewed, and counts as gone',
    file: 'server/src/db/installation-secret.ts',
    line: 'WHERE id <> $1 AND cleared_at IS NULL AND used_at',
    with: 'WHERE id <> $1 AND cleared_at IS NOT NULL AND used_at',
    rig: 'suite',
    test: 'server/test/program/secrets.test.ts',
  },
  {
    name: 'a worker claims although its clock has jumped',
    file: 'server/src/compose/worker.ts',
    line: 'more = clockOffset.isTolerable() && (await step());',
    with: 'more = await step();',
    rig: 'suite',
    test: 'server/test/database/clocks.test.ts',
  },
  {
    name: 'a jump of the clock is noticed with the next measurement only',
    file: 'server/src/db/clock-offset.ts',
    line: 'nowMs - last.beforeMs > staleMs || Math.abs(wallOf(clock) - last.wallMs) > jumpMs',
    with: 'nowMs - last.beforeMs > staleMs',
    rig: 'suite',
    test: 'server/test/database/clocks.test.ts',
  },
  {
    name: 'a late process renews a claim that another one has taken',
    file: `${settlement}/dispatch/intents.sql.ts`,
    line: 'WHERE i.due_at = $3 FOR UPDATE OF i SKIP LOCKED) AS mine',
    with: 'WHERE $3::timestamptz IS NOT NULL FOR UPDATE OF i SKIP LOCKED) AS mine',
    rig: 'suite',
    test: 'server/test/database/clocks.test.ts',
  },
];
