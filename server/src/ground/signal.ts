/**
 * Calls every listener, at once and in order, when something happened. It exists before the parts that raise it and the
 * parts that listen are composed, so a part may keep a copy of it. A function that is assigned later (the earlier form)
 * is lost to every part that copied the empty one.
 */
export interface Signal {
  (): void;
  listen(listener: () => void): void;
}

export function createSignal(): Signal {
  const listeners: (() => void)[] = [];
  const raise = (): void => {
    for (const listener of listeners) listener();
  };
  return Object.assign(raise, {
    listen: (listener: () => void): void => {
      listeners.push(listener);
    },
  });
}
