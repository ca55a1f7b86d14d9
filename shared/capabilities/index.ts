export { type Denial, resolveCapabilities, type Unavailability } from './resolve-capabilities.ts';
