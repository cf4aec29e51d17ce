/** The content of an answer; the server adds the length. A body in parts is streamed. */
export type Reply = {
  status: number;
  type: string;
  body: string | Iterable<string>;
  headers?: Record<string, string>;
};

export function json(status: number, body: unknown): Reply {
  return { status, type: 'application/json', body: JSON.stringify(body) };
}

export type Violation = { razao: string; propriedade: string; valor?: string };

/** An error as API Pix 2.9.0 describes it (RFC 7807). */
export function problem(
  status: number,
  kind: string,
  title: string,
  detail: string,
  violacoes?: Violation[],
): Reply {
  const body = {
    type: `https://pix.bcb.gov.br/api/v2/error/${kind}`,
    title,
    status,
    detail,
    ...(violacoes === undefined || violacoes.length === 0 ? {} : { violacoes }),
  };
  return { status, type: 'application/problem+json', body: JSON.stringify(body) };
}

export function internalError(): Reply {
  return problem(
    500,
    'ErroInternoDoServidor',
    'Erro interno do servidor',
    'Condição inesperada ao processar a requisição.',
  );
}

/** An answer that a client cannot read: a page with the status of success. */
export function garbage(): Reply {
  return {
    status: 200,
    type: 'text/html; charset=utf-8',
    body: '<!doctype html><html><body><h1>Service temporarily degraded</h1></body></html>',
  };
}
