/** Below this a body travels in one piece with its headers, which costs less than two. */
const longFrom = 2_048;

/**
 * A long body of ASCII as bytes. As text Node encodes it as UTF-8, which for the QR code of a charge is a seventh of the request; its bytes are the
 * same in latin1, which is a copy. A text is ASCII where its UTF-8 form is as long as itself.
 */
export const bytesOfAscii = (payload: unknown): unknown =>
  typeof payload === 'string' && payload.length >= longFrom && Buffer.byteLength(payload) === payload.length
    ? Buffer.from(payload, 'latin1')
    : payload;
