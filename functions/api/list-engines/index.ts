import { engineRegistry } from '#shared/engines/index.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv } from '../../kit/read-env.ts';
import { listEnginesHandler } from './handler.ts';

const env = readEnv('DEPLOYED_ENGINES');

export const handler = listEnginesHandler({
  registry: engineRegistry,
  deployed: env.DEPLOYED_ENGINES,
  log: openLogger('list-engines'),
});
