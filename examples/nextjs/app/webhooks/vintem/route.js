import { VintemError, verifyWebhook } from '@vintem/sdk';
import { handle } from '../../../shop.js';

export async function POST(request) {
  try {
    // The signature is over the body as it arrived: bytes, not parsed JSON.
    handle(verifyWebhook(await request.arrayBuffer(), request.headers, [process.env.WEBHOOK_SECRET]));
    return new Response(null, { status: 204 });
  } catch (error) {
    if (error instanceof VintemError) return Response.json({ message: 'invalid signature' }, { status: 400 });
    throw error;
  }
}
