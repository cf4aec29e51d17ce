import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  createContextKey,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Tracing } from '../ground/config.ts';
import type { Traces } from '../ground/traces.ts';
import { systemClock } from '../ports/clock.ts';

const flushName = 'till flush';

/** Where a trace that is not kept runs: one for all, so that nothing is made for what happens below. */
const notKept: Context = ROOT_CONTEXT.setValue(createContextKey('a trace that is not kept'), true);

/**
 * Traces over OTLP, by the official packages. Read only where `OTEL_EXPORTER_OTLP_ENDPOINT` is set. Spans wait in memory, 2,048 at most, and are sent
 * every five seconds; a collector that does not answer costs spans and nothing else.
 */
export function createTraces({ endpoint, share }: Tracing): Traces {
  const running = new AsyncLocalStorage<Context>();
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'vintem' }),
    sampler: samplerOf(share),
    spanProcessors: [
      new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${endpoint}/v1/traces` }) }),
    ],
  });
  const tracer = provider.getTracer('vintem');
  const now = (): Context => running.getStore() ?? ROOT_CONTEXT;

  return {
    request: (traceparent) => {
      const span = tracer.startSpan('request', { kind: SpanKind.SERVER }, parentOf(traceparent));
      return {
        run: (next) => running.run(isSampled(span) ? trace.setSpan(ROOT_CONTEXT, span) : notKept, next),
        end: ({ route, status, requestId }) => {
          span.updateName(route);
          span.setAttributes({
            'http.route': route,
            'http.response.status_code': status,
            'vintem.request_id': requestId,
          });
          if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },

    around: async (name, attributes, work, outcome) => {
      const below = now();
      if (below === notKept) return work();
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, below);
      try {
        const answer = await running.run(trace.setSpan(below, span), work);
        span.setAttribute('vintem.outcome', outcome(answer));
        return answer;
      } catch (error) {
        // The message may name what was sent.
        span.setAttribute('vintem.outcome', 'error').setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    },

    current: () => {
      const span = trace.getSpan(now());
      return span && isSampled(span) ? span : null;
    },

    flushed: ({ ms, commands }, waits) => {
      if (waits.length === 0) return;
      // The machine's, as of every other span.
      const ended = systemClock.now();
      const links: Link[] = waits.map(({ span }) => ({ context: (span as Span).spanContext() }));
      const flush = tracer.startSpan(
        flushName,
        { root: true, startTime: ended - ms, links, attributes: { 'vintem.commands': commands } },
        ROOT_CONTEXT,
      );
      for (const { span, ms: waitedMs } of waits)
        tracer
          .startSpan(
            'till wait',
            { startTime: ended - waitedMs, links: [{ context: flush.spanContext() }] },
            trace.setSpan(ROOT_CONTEXT, span as Span),
          )
          .end(ended);
      flush.end(ended);
    },

    stop: () => provider.shutdown(),
  };
}

const isSampled = (span: Span): boolean => (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;

/** A share of the traces, decided by their id. What a stranger's `traceparent` wishes decides nothing: everybody would ask for all. */
function samplerOf(share: number): Sampler {
  const byId = new TraceIdRatioBasedSampler(share);
  const below = new ParentBasedSampler({
    root: byId,
    remoteParentSampled: byId,
    remoteParentNotSampled: byId,
  });
  return {
    // Asked only for the flush of a command whose trace is kept.
    shouldSample: (context, id, name, ...facts) =>
      name === flushName
        ? { decision: SamplingDecision.RECORD_AND_SAMPLED }
        : below.shouldSample(context, id, name, ...facts),
    toString: () => `vintem(${share})`,
  };
}

/** `traceparent` was checked at the edge (`edge/trace.ts`). */
function parentOf(traceparent: string | undefined): Context {
  if (traceparent === undefined) return ROOT_CONTEXT;
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
  });
}
