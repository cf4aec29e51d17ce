/**
 * Spans over what a process does (OpenTelemetry), as far as the modules know them: `main/tracing.ts` makes them where they are switched on.
 * Elsewhere there are none, and a caller asks nothing but whether there are. No attribute names an account, a person, a key or an amount.
 */
export interface Traces {
  /** A request as it arrives, below the span that its `traceparent` names. */
  request(traceparent: string | undefined): RequestSpan;
  /** `work` as a span below the one that runs now. `outcome` is of its answer; `error` when it threw. */
  around<Answer>(
    name: string,
    attributes: Readonly<Record<string, string>>,
    work: () => Promise<Answer>,
    outcome: (answer: Answer) => string,
  ): Promise<Answer>;
  /** The span that runs now, for what works for many at once. */
  current(): TraceSpan | null;
  /**
   * A transaction that has just ended and served many: a span of its own, linked to the span of each command, and below each of those how
   * long it waited. Nested it would have to stand below one and be missing below the others.
   */
  flushed(flush: { ms: number; commands: number }, waits: readonly { span: TraceSpan; ms: number }[]): void;
  /** Sends what is left. */
  stop(): Promise<void>;
}

export interface RequestSpan {
  /** All work of `next`, now and later, is done below this span. */
  run(next: () => void): void;
  end(attributes: { route: string; status: number; requestId: string }): void;
}

/** Whose inside only `main/tracing.ts` knows. */
export type TraceSpan = object;
