import type { FastifyRequest } from 'fastify';
import { mediaTypeOf } from '../../edge/file-body.ts';
import type { GivenDefence } from '../../flow/defend.ts';
import type { GivenFile } from '../../flow/files.ts';
import { refuse, refuseFields } from '../../ground/errors.ts';
import { fileTypes } from '../../money/evidence.ts';

/**
 * The body and the content type of a request as a file.
 * @throws ApiError `unsupported_media_type`
 */
export function givenFileOf(request: FastifyRequest, name: string): GivenFile {
  const type = fileTypes.find((one) => one === mediaTypeOf(request));
  if (type === undefined || !Buffer.isBuffer(request.body)) throw refuse('unsupported_media_type');
  return { name, type, contents: request.body };
}

/**
 * Whether a text or files are needed is the provider's; nothing at all is no defence.
 * @throws ApiError `validation_failed`
 */
export function requireSomething(given: GivenDefence): GivenDefence {
  if (given.text === undefined && given.fileIds === undefined)
    throw refuseFields([{ field: 'text', code: 'required' }]);
  return given;
}
