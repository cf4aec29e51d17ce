import { refuse } from '../ground/errors.ts';
import { uuidOf } from './validation.ts';

/**
 * The business operation that `X-Service-Operation` names, lower case, or null without the header. Sent twice it arrives as
 * `a, b`, which is no UUID.
 * @throws ApiError `invalid_operation_header`
 */
export function namedOperationOf(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  const id = typeof header === 'string' ? uuidOf(header) : null;
  if (id === null) throw refuse('invalid_operation_header');
  return id;
}
