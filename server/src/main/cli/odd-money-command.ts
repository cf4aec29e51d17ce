import { priceOf } from '../../ground/money.ts';
import {
  bodyOfRuleChange,
  type OddMoneyWanted,
  oddMoneyRuleOf,
  oddMoneyWanted,
  setOddMoneyRule,
  shownOddMoney,
} from '../../operate/accounts/odd-money.ts';
import { reasonOf } from '../../store/operator.ts';
import { isOddMoney, oddKinds } from '../../store/rows/incidents.sql.ts';
import { type Command, type CommandInput, integer, UsageFault, uuid } from './command.ts';
import { onAccount } from './in-cells.ts';
import { operatorOf } from './operator-commands.ts';
import { agreedAtShell, askable, breakGlassOption } from './second-person.ts';

export const oddMoneyCommand: Command = askable({
  name: 'account odd-money',
  usage: `OWNER_ID [--kinds ${oddKinds.join(',')}|none] [--most-cents N] [--reason R] [--break-glass]`,
  about:
    'which odd money the people of an account decide about in the panel, and up to which amount of one Pix; at first none. What leaves them more, where two operators could agree to it, only with --request or --break-glass',
  options: {
    kinds: { type: 'string' },
    'most-cents': { type: 'string' },
    reason: { type: 'string' },
    ...breakGlassOption,
  },
  operands: ['OWNER_ID'],
  run: async (edge, { values, operands }) => {
    const accountId = uuid(operands[0] as string, 'OWNER_ID');
    const rule = await onAccount(edge, 'account odd-money', accountId, async (context, directory) => {
      const before = await oddMoneyRuleOf(context, accountId);
      const wanted = wantedOf(values, before);
      if (wanted === null) return before;
      const reason = values.reason === undefined ? null : reasonOf(String(values.reason));
      const seen = shownOddMoney(before, wanted);
      const agreed = await agreedAtShell({ edge, context }, values, operatorOf(directory), {
        ...{ act: 'changeOddMoneyRule', subject: accountId, body: bodyOfRuleChange(seen) },
        show: async () => ({ postings: [], movedCents: seen.movedCents, shown: seen.shown }),
      });
      return setOddMoneyRule(operatorOf(context), accountId, wanted, { reason, agreed });
    });
    const { kinds, mostCents } = rule;
    const text =
      kinds.length === 0 ? 'none: the operator decides' : `${kinds.join(', ')} up to ${priceOf(mostCents)}`;
    return { json: { ownerId: accountId, kinds, mostCents }, text };
  },
});

/** Null: nothing is to be changed. */
function wantedOf(values: CommandInput['values'], before: OddMoneyWanted): OddMoneyWanted | null {
  const { kinds: named, 'most-cents': most } = values;
  if (named === undefined && most === undefined) return null;
  const kinds = typeof named !== 'string' ? before.kinds : named === 'none' ? [] : named.split(',');
  const unknown = kinds.find((kind) => !isOddMoney(kind));
  if (unknown !== undefined) throw new UsageFault(`--kinds takes ${oddKinds.join(', ')} or none`);
  return oddMoneyWanted(kinds, typeof most === 'string' ? integer(most, '--most-cents') : before.mostCents);
}
