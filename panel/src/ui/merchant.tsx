import { useQuery } from '@tanstack/react-query';
import { ask, type MerchantProfile } from '../api/client.ts';
import { useScope } from '../session.tsx';

export function useMerchantProfile() {
  const { api, account } = useScope();
  return useQuery({
    queryKey: [account.id, 'merchant'],
    queryFn: () => ask(() => api.GET('/merchant-profile')),
    staleTime: 60_000,
  });
}

/** `12.ABC.345/01DE-35` */
export const cnpjText = (cnpj: string): string =>
  cnpj.replace(/^(.{2})(.{3})(.{3})(.{4})(.{2})$/, '$1.$2.$3/$4-$5');

/** Whether a merchant has a letterhead of its own. */
export const hasOwn = ({ displayName, legalName, cnpj, colour, logoVersion }: MerchantProfile): boolean =>
  [displayName, legalName, cnpj, colour, logoVersion].some((part) => part !== null);

/** The merchant's letterhead on pages for payers and receivers. Without one, receivers see vintem's; payers see none, since they do not know vintem. */
export function Letterhead({
  profile,
  forPayer = false,
}: {
  profile: MerchantProfile | undefined;
  forPayer?: boolean;
}) {
  const { account } = useScope();
  if (!profile || !hasOwn(profile)) {
    return forPayer ? null : (
      <div className="brand">
        <img src="/vintem.svg" alt="" width="30" height="30" />
        vintem
      </div>
    );
  }
  const { displayName, legalName, cnpj, colour, logoVersion } = profile;
  return (
    <div className="letterhead" style={colour === null ? {} : { background: colour }}>
      {logoVersion !== null && (
        <img
          src={`/panel/api/accounts/${account.id}/merchant-profile/logo.png?version=${logoVersion}`}
          alt=""
        />
      )}
      <div>
        <strong>{displayName ?? account.name}</strong>
        {legalName !== null && <span>{legalName}</span>}
        {cnpj !== null && <span className="num">CNPJ {cnpjText(cnpj)}</span>}
      </div>
    </div>
  );
}
