import { VintemError } from '@vintem/sdk';
import { placeOrder } from '../../shop.js';

export async function POST(request) {
  try {
    return Response.json(await placeOrder(await request.json()), { status: 201 });
  } catch (error) {
    if (!(error instanceof VintemError)) throw error;
    // Nothing is lost: the order keeps its key, and the customer may press the button again.
    return Response.json(
      { code: error.code, message: error.message },
      { status: error.retryable ? 503 : 400 },
    );
  }
}
