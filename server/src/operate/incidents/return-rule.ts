import { type Operator, OperatorRefused } from '../../store/operator.ts';
import { findReturnable, ruleActor } from '../../store/rows/incidents.sql.ts';
import { keepIncident, resolveIncident } from './incident.ts';

const most = 20;

/**
 * Sends back what accounts do not want to keep, when the time of their people is over. What cannot go back is left to a person.
 * @returns whether there may be more
 */
export async function stepPayerReturns(deps: Omit<Operator, 'actor'>): Promise<boolean> {
  const operator = { ...deps, actor: ruleActor };
  const due = await findReturnable(deps.sql, deps.clock.now(), most);
  for (const id of due) {
    try {
      await resolveIncident(operator, id, {
        action: 'return',
        reason: 'rule of the account',
        decider: 'rule',
      });
    } catch (error) {
      if (!(error instanceof OperatorRefused)) throw error;
      deps.log.warn(
        { incident: id, reason: error.message },
        'money in suspense is not sent back by the rule',
      );
      await leftToPeople(operator, id, error.message);
    }
  }
  return due.length === most;
}

/** Unless a person has resolved it in the meantime. */
async function leftToPeople(operator: Operator, id: string, why: string): Promise<void> {
  await keepIncident(operator, id, `the rule could not send it back: ${why}`).catch((error: unknown) => {
    if (!(error instanceof OperatorRefused)) throw error;
  });
}
