import { join } from 'node:path';
import { SCRIPTED_MODEL } from '#local/model-server/index.ts';
import { tripleName } from '#shared/contracts/index.ts';
import { ENGINE_ADAPTERS } from '#shared/engines/adapters.ts';
import { type EngineLocations, engineRegistry } from '#shared/engines/index.ts';
import type { DeployedEngines } from '#shared/orchestrator/index.ts';
import { DEV_TENANT } from './dev-issuer.ts';
import { storeTenantCredential } from './provision.ts';

/** The model that runs use when they name none. */
export interface ModelChoice {
  readonly kind: 'offline' | 'provider';
  readonly label: string;
  readonly defaultConfig: NonNullable<DeployedEngines[number]['defaultConfig']>;
}

const OFFLINE_CREDENTIAL = 'offline-model';
const OWN_CREDENTIAL = 'openai';

export function engineLocations(projectRoot: string): EngineLocations {
  return {
    programsRoot: join(projectRoot, 'containers'),
    nodePath: process.execPath,
    platform: process.platform,
    arch: process.arch,
  };
}

/** The user's own provider when a key is set, else the scripted model that needs no network. */
export async function chooseModel(
  env: NodeJS.ProcessEnv,
  offline: { baseUrl: string; apiKey: string },
): Promise<ModelChoice> {
  const key = env.OPENAI_API_KEY;
  if (key) {
    await storeTenantCredential(DEV_TENANT, OWN_CREDENTIAL, key);
    const baseUrl = env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1';
    return {
      kind: 'provider',
      label: `your provider (${new URL(baseUrl).host})`,
      defaultConfig: {
        provider: { baseUrl, credential: OWN_CREDENTIAL, name: 'openai' },
        ...(env.NEXUSDESK_MODEL ? { model: env.NEXUSDESK_MODEL } : {}),
      },
    };
  }
  await storeTenantCredential(DEV_TENANT, OFFLINE_CREDENTIAL, offline.apiKey);
  return {
    kind: 'offline',
    label: 'offline scripted model (no AI: set OPENAI_API_KEY to use a real one)',
    defaultConfig: {
      model: SCRIPTED_MODEL,
      provider: {
        baseUrl: offline.baseUrl,
        credential: OFFLINE_CREDENTIAL,
        name: 'offline-scripted',
      },
    },
  };
}

/** Which engines' programs are here, in which versions, as the deployment tells its functions. */
export async function deployedEngines(
  locations: EngineLocations,
  model: ModelChoice,
): Promise<DeployedEngines> {
  const found = new Map<string, string>();
  for (const descriptor of engineRegistry.adapters.all()) {
    const { engineId } = descriptor.triple;
    if (engineRegistry.engines.get(engineId).program.kind === 'builtin') continue;
    const probe = await ENGINE_ADAPTERS[tripleName(descriptor.triple)]?.probe(locations);
    if (probe?.available) found.set(engineId, probe.version);
  }
  return [...found].map(([engineId, version]) => ({
    engineId,
    version,
    defaultConfig: model.defaultConfig,
  }));
}
