export { AuditPage } from './audit.tsx';
export { FactorsPage } from './factors.tsx';
export { OperatorInvitation, OperatorSignIn } from './gate.tsx';
export { OperatorOidc } from './oidc.tsx';
export { OperatorsPage } from './people.tsx';
export { RequestsPage } from './requests.tsx';
