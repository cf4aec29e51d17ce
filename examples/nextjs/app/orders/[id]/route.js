import { findOrder } from '../../../shop.js';

export async function GET(_request, { params }) {
  const order = findOrder((await params).id);
  return order ? Response.json(order) : Response.json({ message: 'no such order' }, { status: 404 });
}
