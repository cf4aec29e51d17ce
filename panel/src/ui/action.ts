import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useRef } from 'react';

export interface Action<Args extends unknown[]> {
  run(...args: Args): void;
  /** For a form whose submission sets it off. */
  submit(event: FormEvent): void;
  /** Its call is under way. Every control that sets it off shows so, or cannot be pressed: a press would do nothing. */
  busy: boolean;
  /** Went well, and was not begun again since. */
  done: boolean;
  /** The last problem, for `FormError`; null once the action is begun again. */
  error: unknown;
  /** As if it had never been begun. */
  forget(): void;
}

interface Around {
  /**
   * Data that it may have changed, also when it failed: prefixes of the query keys that are read again. The action ends with its call and does not
   * wait for these reads, so a press that comes meanwhile counts.
   */
  rereads?: QueryKey[];
  /** The words for a problem instead of its own. */
  textOf?: (problem: unknown) => unknown;
}

/**
 * Something that a person sets off. It is under way once at most: a second press, or Enter on top of one, does nothing, so that
 * no form is sent twice.
 */
export function useAction<Args extends unknown[] = []>(
  act: (...args: Args) => Promise<unknown>,
  { rereads = [], textOf = (problem) => problem }: Around = {},
): Action<Args> {
  const queries = useQueryClient();
  // Known at once: of two presses in one frame, the second is handled before the first is shown.
  const underWay = useRef<Args | null>(null);
  const { mutate, isPending, isSuccess, error, reset } = useMutation({
    mutationFn: async (args: Args) => {
      try {
        return await act(...args);
      } finally {
        if (underWay.current === args) underWay.current = null;
        for (const queryKey of rereads) void queries.invalidateQueries({ queryKey });
      }
    },
    // A call without a network fails at once. The library's default waits, and would send it minutes later.
    networkMode: 'always',
    retry: false,
  });
  const run = (...args: Args): void => {
    if (underWay.current !== null) return;
    underWay.current = args;
    mutate(args);
  };
  return {
    run,
    submit: (event) => {
      event.preventDefault();
      run(...([] as unknown as Args));
    },
    busy: isPending,
    done: isSuccess,
    error: error === null ? null : textOf(error),
    forget: () => {
      underWay.current = null;
      reset();
    },
  };
}
