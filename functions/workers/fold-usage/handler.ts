import { type EndingPage, type FoldDeps, foldUsage } from '#shared/orchestrator/index.ts';
import type { PageImage } from '#shared/runs/index.ts';
import { streamFunction } from '../../kit/stream-function.ts';

/** TRM-5: pages that end attempts and runs → totals per tenant, agent and day. */
export function foldUsageHandler(
  deps: FoldDeps & { readPage: (image: unknown) => PageImage | undefined },
) {
  return streamFunction<EndingPage>({
    read(image, { record }) {
      const found = deps.readPage(image);
      if (!found || found.page?.kind === 'events') return undefined;
      return { record, ref: found.ref, index: found.index, page: found.page };
    },
    run: (pages) => foldUsage(deps, pages),
  });
}
