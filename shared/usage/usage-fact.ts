import type { TerminalStatus, Usage } from '#shared/contracts/index.ts';

/** What one page of a run's log adds to the usage: the end of an attempt, of the run, or of both. */
export interface UsageFact {
  readonly tenantId: string;
  readonly runId: string;
  /** Index of the page. Run and page name the fact: it is counted once, however often it is told. */
  readonly page: number;
  readonly agentId?: string | undefined;
  readonly endedAt: string;
  readonly attempt?: { readonly usage: Usage; readonly activeMs: number | undefined } | undefined;
  /** How the run ended, on the page that ends it. */
  readonly outcome?: TerminalStatus | undefined;
}
