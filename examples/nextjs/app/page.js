import { redirect } from 'next/navigation';
import { placeOrder } from '../shop.js';

/** One product. The button stores an order and shows its Pix code. */
export default function Page() {
  async function buy() {
    'use server';
    const { id } = await placeOrder({ id: crypto.randomUUID(), amountCents: 1990, payerName: 'Maria Silva' });
    redirect(`/orders/${id}`);
  }
  return (
    <form action={buy}>
      <h1>Caneca, R$ 19,90</h1>
      <button type="submit">Pagar com Pix</button>
    </form>
  );
}
