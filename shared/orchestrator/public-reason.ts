const MAX_LENGTH = 1_000;
/** More than this is not looked at: the words of a service are short, and patterns take their time on long ones. */
const MAX_READ = 4_000;

/** What may stand in the words of the control plane and is nobody's business: credentials in URLs, headers, keys. */
const SECRETS: readonly [RegExp, string][] = [
  // User information of a URL.
  [/\b(\w{1,20}:\/\/)[^/\s@"']+@/g, '$1***@'],
  // Signed URLs of layers carry their authority in the query.
  [/(https?:\/\/[^\s?"']+)\?[^\s"']*/g, '$1?***'],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, '$1 ***'],
  [/\b(A[KS]IA)[A-Z0-9]{12,}/g, '$1***'],
  [/\b(password|secret|token)(["']?\s*[=:]\s*["']?)[^\s"',;]+/gi, '$1$2***'],
];

/** Words of a service, as they may be shown to the owner of a run: bounded, and without credentials. */
export function publicReason(text: string): string {
  // Cut between words: half a credential would not be known as one.
  const read = text.length > MAX_READ ? text.slice(0, MAX_READ).replace(/\S*$/, '') : text;
  const clean = SECRETS.reduce((masked, [secret, mark]) => masked.replace(secret, mark), read);
  return clean.length > MAX_LENGTH ? `${clean.slice(0, MAX_LENGTH - 1)}…` : clean;
}
