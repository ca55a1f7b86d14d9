const MAX_LENGTH = 1_000;

/** What may stand in the words of the control plane and is nobody's business: credentials in URLs, headers, keys. */
const SECRETS: readonly [RegExp, string][] = [
  // User information of a URL.
  [/(\w+:\/\/)[^/\s@"']+@/g, '$1***@'],
  // Signed URLs of layers carry their authority in the query.
  [/(https?:\/\/[^\s?"']+)\?[^\s"']*/g, '$1?***'],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, '$1 ***'],
  [/\b(A[KS]IA)[A-Z0-9]{12,}/g, '$1***'],
  [/\b(password|secret|token)(["']?\s*[=:]\s*["']?)[^\s"',;]+/gi, '$1$2***'],
];

/** Words of a service, as they may be shown to the owner of a run: bounded, and without credentials. */
export function publicReason(text: string): string {
  const clean = SECRETS.reduce((masked, [secret, mark]) => masked.replace(secret, mark), text);
  return clean.length > MAX_LENGTH ? `${clean.slice(0, MAX_LENGTH - 1)}…` : clean;
}
