export { ClosedDayPage, ClosesPage } from './closes.tsx';
export { ConnectionPage, ConnectionsPage } from './connections.tsx';
export { NoticePage } from './notice.tsx';
export { ProcessesPage } from './processes.tsx';
