import type { Net, NetAnswer, NetRequest } from '../../server/src/ports/net.ts';

/** A network that gives the answers that a test has put down, in their order, and keeps what was asked. */
export interface AnsweringNet {
  net: Net;
  answers: NetAnswer[];
  calls: NetRequest[];
}

export function answeringNet(): AnsweringNet {
  const outside: AnsweringNet = {
    answers: [],
    calls: [],
    net: {
      async request(request: NetRequest) {
        outside.calls.push(request);
        const answer = outside.answers.shift();
        if (!answer) throw new Error(`no answer for ${request.method} ${request.url}`);
        return answer;
      },
    } as Net,
  };
  return outside;
}
