import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';

export interface Action<Args extends unknown[]> {
  run(...args: Args): void;
  /** For a form whose submission sets it off. */
  submit(event: FormEvent): void;
  busy: boolean;
  /** Went well, and was not begun again since. */
  done: boolean;
  /** What went wrong the last time, for `FormError`; null once it is begun again. */
  error: unknown;
  /** As if it had never been begun. */
  forget(): void;
}

/**
 * Something that a person sets off. It is under way once at most: a second press, or Enter on top of one, does nothing, so that
 * no form is sent twice.
 *
 * @param textOf what to say of a problem instead of its own words
 */
export function useAction<Args extends unknown[] = []>(
  act: (...args: Args) => Promise<unknown>,
  textOf: (problem: unknown) => unknown = (problem) => problem,
): Action<Args> {
  const { mutate, isPending, isSuccess, error, reset } = useMutation({
    mutationFn: (args: Args) => act(...args),
    // What is asked for without a network fails there and then. The library's default waits, and would send it minutes later.
    networkMode: 'always',
    retry: false,
  });
  const run = (...args: Args): void => {
    if (!isPending) mutate(args);
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
    forget: reset,
  };
}
