import type { RouteFacts } from '../edge/edge.ts';

/** Calls of the console stand in its own document; permissions are those of API keys and say nothing here: `operate/acts.ts` does. */
export const consoleConfig: { api: RouteFacts } = {
  api: { permissions: [], policy: 'reads', operation: 'syntax' },
};
