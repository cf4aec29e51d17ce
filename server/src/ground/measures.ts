import { cellsOf, Histogram, Histograms } from './histogram.ts';

/** Seconds. The answer's limits stand among them: 0.2 for a person, 1 for the till, 6 and 8 for callers, 15 for providers. */
const secondsBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 6, 8, 15];
const batchBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** The result of an attempt to deliver to a merchant. */
export const deliveryOutcomes = ['delivered', 'pending', 'failed'] as const;
export type DeliveryOutcome = (typeof deliveryOutcomes)[number];

/** The counters of a process. No label names an account. */
export interface Measures {
  /** By route and status. */
  requests: Histograms;
  /** From the call of the till to its answer. */
  tillWait: Histogram;
  tillFlush: Histogram;
  tillBatch: Histogram;
  /** By connection, call and outcome. */
  providerCalls: Histograms;
  /** Of these, those that were answered with an error: by connection, call and the provider's name of the error. */
  providerErrors: Histograms;
  /** By outcome; written by the thread of the deliveries. */
  deliveries: DeliveryMeasures;
  /** Calls that were refused under overload. */
  shed: { count: number };
  /** Deliveries of providers that are not for us, by reason. */
  notOurs: Record<NotOurs, number>;
}

/**
 * `unknownConnection`: to the address of a connection that is not here, as after a restore of a copy that is older than it. `notAddressed`:
 * authentic, and it does not name our account.
 */
export type NotOurs = 'unknownConnection' | 'notAddressed';

export interface DeliveryMeasures {
  /** Handed to the thread. */
  memory: SharedArrayBuffer;
  byOutcome: Readonly<Record<DeliveryOutcome, Histogram>>;
}

export function createMeasures(): Measures {
  return {
    requests: new Histograms(['route', 'status'], secondsBounds),
    tillWait: new Histogram(secondsBounds),
    tillFlush: new Histogram(secondsBounds),
    tillBatch: new Histogram(batchBounds),
    providerCalls: new Histograms(['connection', 'call', 'outcome'], secondsBounds),
    providerErrors: new Histograms(['connection', 'call', 'name'], secondsBounds),
    deliveries: deliveryMeasuresOver(
      new SharedArrayBuffer(8 * cellsOf(secondsBounds) * deliveryOutcomes.length),
    ),
    shed: { count: 0 },
    notOurs: { unknownConnection: 0, notAddressed: 0 },
  };
}

/** The same histograms in the thread that delivers and in the one that is asked for metrics. */
export function deliveryMeasuresOver(memory: SharedArrayBuffer): DeliveryMeasures {
  const cells = cellsOf(secondsBounds);
  const at = (outcome: DeliveryOutcome): Histogram =>
    new Histogram(
      secondsBounds,
      new Float64Array(memory, 8 * cells * deliveryOutcomes.indexOf(outcome), cells),
    );
  return { memory, byOutcome: { delivered: at('delivered'), pending: at('pending'), failed: at('failed') } };
}
