export { ClosedDayPage, ClosesPage } from './closes.tsx';
export { ConnectionPage, ConnectionsPage } from './connections.tsx';
