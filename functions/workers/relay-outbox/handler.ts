import { type RelayDeps, relayOutbox, type StreamedPage } from '#shared/orchestrator/index.ts';
import { type PageImage, toAgentEvents } from '#shared/runs/index.ts';
import { streamFunction } from '../../kit/stream-function.ts';

/** What the image of an item says about a log page; undefined for everything else. */
export type ReadPage = (image: unknown) => PageImage | undefined;

/** TRM-6: the table's stream → the bus. */
export function relayOutboxHandler(deps: RelayDeps & { readPage: ReadPage }) {
  return streamFunction<StreamedPage>({
    read(image, place) {
      const found = deps.readPage(image);
      if (!found) return undefined;
      const { ref, index, page, problem } = found;
      if (!page) deps.log.error({ ...ref, page: index, error: problem }, 'page cannot be read');
      return { ...place, ref, index, events: page && toAgentEvents(ref.runId, page) };
    },
    run: (pages) => relayOutbox(deps, pages),
  });
}
