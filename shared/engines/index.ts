export { engineRegistry } from './catalogue.ts';
export type {
  EngineAdapter,
  EngineAvailability,
  EngineEnding,
  EngineExecution,
  EngineLaunch,
  EngineLocations,
  EngineRecord,
  EngineTranslator,
  PrepareContext,
  Translation,
} from './engine-adapter.ts';
export { MAX_RECORD_BYTES } from './engine-adapter.ts';
export type {
  AdapterDescriptor,
  EngineDefinition,
  ProtocolDefinition,
} from './engine-descriptor.ts';
export { EngineRegistry } from './registry.ts';
