import { ERROR_CLASSES } from '#shared/contracts/index.ts';
import {
  EVIDENCE_KINDS,
  type EvidenceKind,
  type LiveStatus,
  PRECEDENCE,
} from '#shared/runs/index.ts';

/** Who may end a run, and how: `docs/precedence.md`. */
export function precedenceDoc(notice: string): string {
  const statuses = Object.keys(PRECEDENCE) as LiveStatus[];
  const kinds = Object.keys(EVIDENCE_KINDS) as EvidenceKind[];
  return [
    '# Who ends a run',
    '',
    notice,
    '',
    'Everybody who may end a run brings evidence to one pure function, `decide(head, evidence)`, and writes what it says',
    'only if the head is still as the decision saw it; else it reads the head and asks again. So whatever comes first, and',
    'however often, a run has one ending.',
    '',
    '| evidence | what it is |',
    '|---|---|',
    ...kinds.map((kind) => `| \`${kind}\` | ${EVIDENCE_KINDS[kind]} |`),
    '',
    'Two rules come before all others: a run that has ended stays as it ended, and evidence about an older attempt is',
    'nothing. Then the status of the run and the kind of evidence say what happens:',
    '',
    '| run is | evidence | becomes | because |',
    '|---|---|---|---|',
    ...statuses.flatMap((status) =>
      kinds.map((kind) => {
        const { outcomes, because } = PRECEDENCE[status][kind];
        return `| ${status} | \`${kind}\` | ${outcomes.map(inBold).join(' or ')} | ${because} |`;
      }),
    ),
    '',
    '## Another attempt',
    '',
    'A run is tried again when all of these hold: an attempt is left (`retry.maxAttempts`); the class of its error may be',
    'tried again; and either nothing can have been done yet (`sideEffects: none`) or the run says that it may be repeated',
    '(`retry.repeatable`). It waits before that, twice as long each time up to five minutes, with jitter; five times as',
    'long where the class asks for a delay.',
    '',
    '| retry rule | classes | means |',
    '|---|---|---|',
    ...Object.entries(RETRY_RULES).map(([rule, meaning]) => {
      const classes = Object.entries(ERROR_CLASSES)
        .filter(([, { retry }]) => retry === rule)
        .map(([name]) => name);
      return `| ${rule} | ${classes.join(', ')} | ${meaning} |`;
    }),
    '',
  ].join('\n');
}

const RETRY_RULES: {
  readonly [R in (typeof ERROR_CLASSES)[keyof typeof ERROR_CLASSES]['retry']]: string;
} = {
  never: 'A repeat would end the same.',
  policy: 'Within the attempt limit.',
  after_delay: 'Within the attempt limit, after a longer wait.',
  conditional: 'Only when nothing can have been done.',
  per_task: 'Only when the run is repeatable.',
};

const inBold = (outcome: string) => (outcome === 'stay' ? outcome : `**${outcome}**`);
