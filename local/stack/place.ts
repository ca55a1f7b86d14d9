/** Where the emulated account is: part of every ARN. */
export const PLACE = { region: 'us-east-1', accountId: '000000000000' } as const;
