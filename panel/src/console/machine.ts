export { ClosedDayPage, ClosesPage } from './closes.tsx';
export { ConnectionPage, ConnectionsPage } from './connections.tsx';
export { ProcessesPage } from './processes.tsx';
